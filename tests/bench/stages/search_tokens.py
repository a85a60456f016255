"""The exact search of token vectors by late interaction, beside sentence-transformers and the bare product of the matrices."""

import sys
from functools import partial
from pathlib import Path

import numpy as np

from bench.child import report, timed_call

DIM, OF_A_QUERY = 128, 32

MEAN, SPREAD, LONGEST = 5.0, 0.5, 300
"""Lengths of documents are those of texts: most are short, few are cut."""

ROWS = 4096


def inputs(folder: Path, documents: int, queries: int) -> None:
    """Write random unit vectors in float16: documents, longest first, as a chunk and, for the peers, as arrays; and queries."""
    from token_vectors import random_vectors, written

    folder.mkdir(parents=True)
    rng = np.random.default_rng((documents, queries))
    lengths = np.sort(rng.lognormal(MEAN, SPREAD, documents).clip(8, LONGEST).astype(np.int64))[::-1]
    of_documents = random_vectors(rng, lengths, DIM)
    written(of_documents, np.arange(documents), folder / "chunk.arrow", at_once=documents)
    np.savez(folder / "documents.npz", **of_documents._asdict())
    np.savez(folder / "queries.npz", **random_vectors(rng, np.full(queries, OF_A_QUERY), DIM)._asdict())


def ours(output: Path, source: Path, k: int, threads: int) -> None:
    """Time reading and searching the token vectors of a file."""
    import pyarrow as pa
    import torch

    from beirflow.families.late_interaction.search import exact_top_k
    from beirflow.families.late_interaction.vectors import TokenVectors, read_segments
    from beirflow.ranking.ranking import Cut, byte_order

    torch.set_num_threads(threads)
    with np.load(source / "queries.npz") as arrays:
        queries = TokenVectors(**arrays)
    with np.load(source / "documents.npz") as arrays:
        ids = byte_order(pa.array([f"d{number}" for number in range(len(arrays["counts"]))]))
    excluded, segments = np.full(len(queries.counts), -1), partial(read_segments, source / "chunk.arrow")
    with timed_call():
        hits = exact_top_k(queries, segments, Cut(k, ids, excluded), device=torch.device("cpu"))
    np.savez(output / "hits.npz", query=hits[0], row=hits[1], score=hits[2])


def peer_maxsim(output: Path, source: Path, k: int, threads: int) -> None:
    """Time maxsim of all queries and documents in float32, and torch's top k; all are in memory."""
    import torch
    from sentence_transformers.util.similarity import maxsim

    def matrices(name: str) -> list[torch.Tensor]:
        with np.load(source / name) as arrays:
            return list(torch.from_numpy(arrays["vectors"]).float().split(arrays["counts"].tolist()))

    torch.set_num_threads(threads)
    queries, documents = matrices("queries.npz"), matrices("documents.npz")
    with timed_call(), torch.inference_mode():
        scores, rows = maxsim(queries, documents).topk(k, dim=1)
    query = np.repeat(np.arange(len(queries)), k)
    np.savez(output / "hits.npz", query=query, row=rows.numpy().reshape(-1), score=scores.numpy().reshape(-1))


def product(output: Path, source: Path, k: int, threads: int) -> None:
    """Time the products of the same matrices in float32, in large blocks, and nothing else: the best that the machine can do."""
    import torch

    torch.set_num_threads(threads)
    with np.load(source / "queries.npz") as queries, np.load(source / "documents.npz") as documents:
        columns, rows = (torch.from_numpy(arrays["vectors"]).float() for arrays in (queries, documents))
    result = torch.empty(ROWS, len(columns))
    with timed_call(), torch.inference_mode():
        for block in rows.split(ROWS):
            torch.mm(block, columns.T, out=result[: len(block)])


def check(source: Path, output: Path, k: int) -> None:
    """Compare the scores of all queries with products in double."""
    from beirflow.families.late_interaction.vectors import TokenVectors
    from token_vectors import text_scores

    with np.load(source / "queries.npz") as queries, np.load(source / "documents.npz") as documents:
        scores = text_scores(TokenVectors(**queries), TokenVectors(**documents))
    expected = -np.sort(-scores, axis=1)[:, :k]
    with np.load(output / "hits.npz") as hits:
        if not np.allclose(hits["score"].reshape(expected.shape), expected, rtol=1e-6, atol=0):
            sys.exit("scores are not those of brute force")
    report(agree=f"all {expected.size:,} scores are those of brute force, in a chunk of {scores.shape[1]:,} documents")
