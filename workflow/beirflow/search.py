"""Exact search of one chunk.

A fast pass in float32 finds candidates; their scores are then computed again in float64 and rounded to float32, one document at a
time, so that a score depends on its two vectors alone: not on the chunk, the block, the number of threads or the device. The fast
pass keeps every document whose exact score may reach the k-th, by a bound on the rounding error of a dot product, so the cut is
exact, ties included.
"""

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch

from beirflow.devices import choose_device
from beirflow.errors import DataError
from beirflow.files import atomic_path
from beirflow.progress import Progress
from beirflow.ranking import byte_order, rank
from beirflow.vectors import read_vectors

QUERY_BLOCK = 512
DOCUMENT_BLOCK = 16384
SPARE = 128
"""Candidates kept beyond k: the room for documents whose scores the fast pass cannot tell apart from the k-th."""

UNIT_ROUNDOFF = 2.0**-24
"""Of float32. The error of a dot product of length d is at most about d times this times the norms (Higham 2002, section 3.1)."""


def search_chunk(
    *,
    queries_path: str,
    documents_path: str,
    chunk: int,
    query_vectors_path: str,
    chunk_vectors_path: str,
    output_path: str,
    similarity: str,
    top_k: int,
    drop_self_matches: bool,
    device: str,
    threads: int,
) -> None:
    """Find the top k of one chunk for every query.

    Args:
        queries_path: ``queries.parquet``.
        documents_path: ``documents.parquet``.
        chunk: Number of the chunk.
        query_vectors_path: ``.npy`` of the queries' vectors, float32 of shape (queries, dim), with its record beside it.
        chunk_vectors_path: ``.npy`` of the chunk's vectors, float32 of shape (documents of the chunk, dim).
        output_path: ``.npz`` to write: ``query`` and ``row`` (int32: number of the query, row in the chunk) and ``score``
            (float32) of every candidate, sorted by query and rank; ``self_matches``, documents dropped; ``seconds``.
        similarity: ``dot`` or ``cosine``.
        top_k: Documents to keep for each query.
        drop_self_matches: Whether a document whose id is the query's id is dropped before the cut.
        device: ``auto``, ``cuda`` or ``cpu``.
        threads: Threads to compute with on the CPU.

    Raises:
        DataError: A file of vectors is not the one that was recorded.
    """
    torch.set_num_threads(threads)
    query_ids = pq.read_table(queries_path, columns=["query_id"])["query_id"].combine_chunks()
    doc_ids = pq.ParquetFile(documents_path).read_row_group(chunk, columns=["doc_id"])["doc_id"].combine_chunks()
    queries = read_vectors(query_vectors_path, len(query_ids))
    documents = read_vectors(chunk_vectors_path, len(doc_ids))
    start = time.perf_counter()
    own = _own_rows(query_ids, doc_ids) if drop_self_matches else np.full(len(query_ids), -1)
    found = exact_top_k(
        queries, documents, byte_order(doc_ids), top_k, similarity=similarity, excluded=own, device=choose_device(device)
    )
    with atomic_path(output_path) as partial, partial.open("wb") as stream:
        np.savez(
            stream,
            query=found[0],
            row=found[1],
            score=found[2],
            self_matches=int((own >= 0).sum()),
            seconds=time.perf_counter() - start,
        )


def _own_rows(query_ids: pa.Array, doc_ids: pa.Array) -> np.ndarray:
    """For each query the row of the document that has its id, or -1."""
    return pc.fill_null(pc.index_in(query_ids, value_set=doc_ids), -1).to_numpy()


def exact_top_k(
    queries: np.ndarray,
    documents: np.ndarray,
    id_order: np.ndarray,
    k: int,
    *,
    similarity: str,
    excluded: np.ndarray,
    device: torch.device,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k best documents of each query by the ranking rule.

    Args:
        queries: float32 of shape (queries, dim).
        documents: float32 of shape (documents, dim).
        id_order: Place of each document's id in byte order, integers of shape (documents,).
        k: Documents to keep for each query.
        similarity: ``dot`` or ``cosine``; a vector of zeros has cosine 0 with every other.
        excluded: For each query a row of ``documents`` that is left out, or -1; shape (queries,).
        device: Where to compute.

    Returns:
        Number of the query and row of the document, int32, and score, float32, of every hit, sorted by query and rank.

    Raises:
        DataError: The vectors have different dimensions, or are so long that a dot product may overflow.
    """
    if queries.shape[1] != documents.shape[1]:
        raise DataError(
            f"the queries' vectors have {queries.shape[1]} dimensions, the documents' {documents.shape[1]}; encode both again"
        )
    matrix = _prepare(documents, similarity, device)
    longest = float(matrix.norm(dim=1).max()) if len(matrix) else 0.0
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    with Progress("search", len(queries), "queries") as progress:
        for start in range(0, len(queries), QUERY_BLOCK):
            block = _prepare(queries[start : start + QUERY_BLOCK], similarity, device)
            if not np.isfinite(longest * float(block.norm(dim=1).max())):
                raise DataError(
                    "the vectors are so long that their dot products overflow float32; use the cosine, or another model"
                )
            left_out = torch.from_numpy(excluded[start : start + QUERY_BLOCK].astype(np.int64)).to(device)
            for number, candidates in _candidates(block, matrix, left_out, k, longest):
                scores = exact_scores(block[number], matrix, candidates).cpu().numpy()
                rows = candidates.cpu().numpy().astype(np.int32)
                query = np.full(len(rows), start + number, dtype=np.int32)
                kept, _ = rank(query, scores, id_order[rows], k)
                parts.append((query[kept], rows[kept], scores[kept]))
            progress.advance(len(block))
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))  # type: ignore[return-value]


def _prepare(vectors: np.ndarray, similarity: str, device: torch.device) -> torch.Tensor:
    """Vectors on the device, scaled to length 1 for the cosine."""
    tensor = torch.from_numpy(np.array(vectors, dtype=np.float32)).to(device)
    if similarity == "cosine":
        exact = tensor.double()
        tensor = (exact / exact.norm(dim=1, keepdim=True).clamp_min(1e-60)).float()
    return tensor


def exact_scores(query: torch.Tensor, documents: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Dot products of a query with some documents, accumulated in float64 and rounded to float32.

    Args:
        query: float32 of shape (dim,).
        documents: float32 of shape (documents, dim).
        rows: Rows of ``documents``, int64 of shape (n,).

    Returns:
        float32 of shape (n,); equal vectors have equal scores, wherever they stand.
    """
    return (documents[rows].double() * query.double()).sum(dim=1).float()


def _candidates(
    queries: torch.Tensor, documents: torch.Tensor, excluded: torch.Tensor, k: int, longest: float
) -> Iterator[tuple[int, torch.Tensor]]:
    """For each query of a block, rows that hold its exact top k and few others."""
    keep = min(len(documents), k + SPARE)
    scores, rows = _fast_pass(queries, documents, excluded, keep)
    dim = documents.shape[1]
    bounds = 2 * dim * UNIT_ROUNDOFF / (1 - dim * UNIT_ROUNDOFF) * longest * queries.norm(dim=1)
    threshold = (scores[:, min(k, keep) - 1] - 2 * bounds) if keep else bounds
    for query in range(len(queries)):
        inside = (scores[query] >= threshold[query]) & (scores[query] > -torch.inf)
        if keep < len(documents) and bool(inside[-1]):
            every = torch.mv(documents, queries[query])
            if excluded[query] >= 0:
                every[excluded[query]] = -torch.inf
            yield query, torch.nonzero((every >= threshold[query]) & (every > -torch.inf)).flatten()
        else:
            yield query, rows[query][inside]


def _fast_pass(
    queries: torch.Tensor, documents: torch.Tensor, excluded: torch.Tensor, keep: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores and rows of about the best ``keep`` documents of each query, best first, block by block."""
    count = len(queries)
    best_scores = torch.empty((count, 0), device=queries.device)
    best_rows = torch.empty((count, 0), dtype=torch.long, device=queries.device)
    with_own = torch.nonzero(excluded >= 0).flatten()
    for start in range(0, len(documents), DOCUMENT_BLOCK):
        scores = queries @ documents[start : start + DOCUMENT_BLOCK].T
        here = with_own[(excluded[with_own] >= start) & (excluded[with_own] < start + scores.shape[1])]
        scores[here, excluded[here] - start] = -torch.inf
        block_scores, block_rows = scores.topk(min(keep, scores.shape[1]), dim=1)
        best_scores = torch.cat([best_scores, block_scores], dim=1)
        best_rows = torch.cat([best_rows, block_rows + start], dim=1)
        best_scores, places = best_scores.topk(min(keep, best_scores.shape[1]), dim=1)
        best_rows = best_rows.gather(1, places)
    return best_scores, best_rows
