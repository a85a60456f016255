"""The search of weights of terms as a SPLADE gives them, beside scipy and bm25s; and one of a chunk of MS MARCO, within 4 GB."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from bench.child import report, timed_call

TERMS, OF_A_DOCUMENT, OF_A_QUERY = 30_522, 150, 40
FLATTENED, EXPONENT, LARGEST = 50, 0.9, 3

DRAWN, MULTIPLIED = 50_000, 50
"""Documents that are drawn, and queries that scipy multiplies, at a time."""

WARM_UP = 2
"""Queries with which numba compiles functions."""

TOLERANCE = 1e-5
"""Relative to the largest score: the peers add in float32."""

SAMPLE = 5


def inputs(folder: Path, documents: int, queries: int) -> None:
    """Write the documents as postings for ours and as plain arrays for the peers, and the queries."""
    from beirflow.core.writing import DigestingWriter
    from beirflow.families.sparse.files import ChunkWeights, Rows

    def weights(texts: int, terms: int) -> Rows:
        """About as many terms a text, each with a weight; terms are drawn by a flattened law of Zipf."""
        shares = np.cumsum((np.arange(TERMS) + FLATTENED) ** -EXPONENT)
        drawn = np.searchsorted(shares / shares[-1], rng.random(texts * terms)).clip(max=TERMS - 1)
        pairs = np.unique(np.repeat(np.arange(texts), terms) << 32 | drawn)
        return Rows.of(texts, pairs >> 32, pairs & 0xFFFFFFFF, rng.random(len(pairs), np.float32) * LARGEST + np.float32(1e-3))

    folder.mkdir(parents=True)
    rng = np.random.default_rng((documents, queries))
    blocks = [weights(min(DRAWN, documents - first), OF_A_DOCUMENT) for first in range(0, documents, DRAWN)]
    with DigestingWriter(folder / "weights.arrow") as stream:
        ChunkWeights.write(stream, (blocks, "none"))
    np.savez(folder / "documents.npz", **Rows.together(blocks)._asdict())
    np.savez(folder / "queries.npz", **weights(queries, OF_A_QUERY)._asdict())


def ours(output: Path, source: Path, k: int, place: str) -> None:
    """Time the search of postings in a file; or, as the peers do, of postings that are in memory before the time begins."""
    import pyarrow as pa

    from beirflow.core.background import read_ahead
    from beirflow.families.sparse.files import Rows, read_segments
    from beirflow.families.sparse.search import search_segments
    from beirflow.ranking.ranking import Cut, byte_order

    with np.load(source / "queries.npz") as arrays:
        queries = Rows(**arrays)
    with np.load(source / "documents.npz") as arrays:
        ids = pa.array([f"d{number}" for number in range(len(arrays["counts"]))])
    read = read_segments(source / "weights.arrow", "none")
    segments = read_ahead(read) if place == "file" else list(read)
    with timed_call():
        cut = Cut(k, byte_order(ids), np.full(len(queries.counts), -1))
        hits, _ = search_segments(queries, segments, cut)
    np.savez(output / "hits.npz", query=hits[0], row=hits[1], score=hits[2])


def read_matrix(path: Path) -> Any:
    """Texts as rows of a sparse matrix of scipy."""
    import scipy.sparse as sp

    with np.load(path) as arrays:
        starts = np.concatenate([[0], np.cumsum(arrays["counts"])])
        return sp.csr_array((arrays["weights"], arrays["terms"], starts), shape=(len(arrays["counts"]), TERMS))


def peer_scipy(output: Path, source: Path, k: int) -> None:
    """Time the product of two sparse matrices in blocks of queries, and the top k of every row; in memory."""
    queries, documents = read_matrix(source / "queries.npz"), read_matrix(source / "documents.npz").T.tocsr()
    hits = []
    with timed_call():
        for start in range(0, queries.shape[0], MULTIPLIED):
            product = queries[start : start + MULTIPLIED] @ documents
            for number in range(product.shape[0]):
                part = slice(product.indptr[number], product.indptr[number + 1])
                rows, scores = product.indices[part], product.data[part]
                if len(rows) > k:
                    best = np.argpartition(scores, len(scores) - k)[len(scores) - k :]
                    rows, scores = rows[best], scores[best]
                order = np.argsort(-scores)
                hits.append((np.full(len(rows), start + number), rows[order], scores[order]))
    query, row, score = (np.concatenate(columns) for columns in zip(*hits, strict=True))
    np.savez(output / "hits.npz", query=query, row=row, score=score)


def peer_bm25s(output: Path, source: Path, k: int) -> None:
    """Time retrieval by bm25s with numba from a matrix of scores in memory, here that of the documents' weights.

    It has no weights of queries, so it adds the same lists up, each with the weight 1.
    """
    import bm25s
    import numba

    numba.set_num_threads(1)
    queries, documents = read_matrix(source / "queries.npz"), read_matrix(source / "documents.npz").tocsc()
    searcher = bm25s.BM25(backend="numba")
    matrix = {"data": documents.data, "indices": documents.indices, "indptr": documents.indptr}
    searcher.scores = {**matrix, "num_docs": documents.shape[0]}
    searcher.vocab_dict, searcher.nonoccurrence_array = {str(term): term for term in range(TERMS)}, None
    searcher.unique_token_ids_set = set(range(TERMS))
    searcher.activate_numba_scorer()
    tokens = [part.tolist() for part in np.split(queries.indices, queries.indptr[1:-1])]
    searcher.retrieve(tokens[:WARM_UP], k=k, n_threads=1, show_progress=False)
    with timed_call():
        rows, scores = searcher.retrieve(tokens, k=k, n_threads=1, show_progress=False)
    np.savez(output / "hits.npz", row=rows, score=scores)


def check(mine: Path, peer: Path) -> None:
    """Compare the scores of every query, rank by rank."""
    with np.load(mine / "hits.npz") as ours, np.load(peer / "hits.npz") as theirs:
        if not np.array_equal(ours["query"], theirs["query"]):
            sys.exit("queries have other numbers of hits")
        difference = np.abs(ours["score"] - theirs["score"]).max() / theirs["score"].max()
        same, hits = float((ours["row"] == theirs["row"]).mean()), len(ours["row"])
    if not difference <= TOLERANCE:
        sys.exit(f"scores differ by {difference:.2g} of the largest")
    report(agree=f"{hits:,} hits, scores within {TOLERANCE:g} of the largest; {same:.3%} in the same place")


def msmarco_check(source: Path, output: Path, k: int) -> None:
    """Compare some queries with brute force."""
    with np.load(source / "documents.npz") as arrays:
        counts, terms, weights = (arrays[name] for name in ("counts", "terms", "weights"))
    rows = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    with np.load(source / "queries.npz") as asked, np.load(output / "hits.npz") as hits:
        ends = np.cumsum(asked["counts"])
        for query in np.linspace(0, len(ends) - 1, SAMPLE).astype(int).tolist():
            own = slice(ends[query] - asked["counts"][query], ends[query])
            factors = np.zeros(TERMS)
            factors[asked["terms"][own]] = asked["weights"][own]
            scores = np.bincount(rows, factors[terms] * weights, len(counts)).astype(np.float32)
            best = np.sort(scores)[::-1][:k]
            here = hits["query"] == query
            same = np.array_equal(hits["score"][here], best[best > 0])
            if not same or (scores[hits["row"][here]] != hits["score"][here]).any():
                sys.exit(f"query {query} has other scores than brute force finds")
    report(agree=f"{SAMPLE} queries are those of brute force, in a chunk of {len(terms):,} weights")
