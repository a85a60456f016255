"""Search of an approximate index: the neighbours of queries, as pairs of a query and a document."""

from typing import Any

import numpy as np

from beirflow.core.errors import DataError
from beirflow.core.progress import Progress
from beirflow.families.approximate.settings import ApproximateSettings, faiss_library
from beirflow.families.dense.compression import Compression

QUERIES = 256  # number of queries that are searched at once

NO_PRODUCTS = 2**31 - 1
"""Threshold of faiss for products of matrices, which round by their shape and the number of threads: out of reach."""


def read_index(path: str, documents: int) -> Any:
    """Read an index that was verified against its record. Raises DataError if it is not of so many documents."""
    index = faiss_library().read_index(path)
    if index.ntotal != documents:
        raise DataError(f"{path}: found an index of {index.ntotal} documents, expected {documents}; build it again: rm {path}")
    return index


def find_neighbours(
    index: Any, queries: np.ndarray, k: int, settings: ApproximateSettings, *, cosine: bool, threads: int
) -> np.ndarray:
    """Search an index, with the same result whatever the number of threads and of queries.

    Args:
        index: The index.
        queries: float32 of shape (queries, dim), as they were encoded.
        k: Documents to find for each query. ``hnsw`` finds at most ``ef_search``: faiss would search with a larger one otherwise.
        settings: The settings of the search.
        cosine: True if vectors are compared by the cosine.
        threads: Threads that share the queries.

    Returns:
        Rows of documents, int64 of shape (queries, at most k), in the order of the index; -1 where fewer are found.

    Raises:
        DataError: The queries' vectors have other dimensions than the index.
    """
    faiss = faiss_library()
    if queries.shape[1] != index.d:
        raise DataError(f"the queries' vectors have {queries.shape[1]} dimensions, the documents' {index.d}; encode both again")
    k, parameters = min(k, index.ntotal), None
    if settings.ef_search is not None:
        k, parameters = min(k, settings.ef_search), faiss.SearchParametersHNSW(efSearch=settings.ef_search)
    elif settings.nprobe is not None:
        parameters = faiss.SearchParametersIVF(nprobe=settings.nprobe)
    vectors, rows = Compression("float32", None, cosine).shortened(queries), np.empty((len(queries), k), np.int64)
    faiss.omp_set_num_threads(threads)
    # A setting of the whole process, which is restored.
    before, faiss.cvar.distance_compute_blas_threshold = faiss.cvar.distance_compute_blas_threshold, NO_PRODUCTS
    try:
        with Progress("search", len(queries), "queries") as progress:
            for start in range(0, len(queries), QUERIES):
                block = vectors[start : start + QUERIES]
                rows[start : start + QUERIES] = index.search(block, k, params=parameters)[1]
                progress.advance(len(block))
    finally:
        faiss.cvar.distance_compute_blas_threshold = before
    return rows


def pairs_of(rows: np.ndarray, excluded: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first k pairs of each query: number of the query, ascending, and row of the document, int64.

    ``rows``, int64 of shape (queries, n), are in the order of the index, -1 for none; ``excluded`` are rows of each query that
    are left out before the cut, or -1, of shape (queries,) or (queries, m).
    """
    is_kept = (rows >= 0) & ~np.stack([np.isin(found, left_out) for found, left_out in zip(rows, excluded, strict=True)])
    query, place = np.nonzero(is_kept & (is_kept.cumsum(axis=1) <= k))
    return query, rows[query, place]
