"""The neighbours of queries in an approximate index, and their exact scores."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from beirflow.approximate.library import faiss_library
from beirflow.approximate.settings import ApproximateSettings
from beirflow.dense.compression import Compression
from beirflow.files.errors import DataError
from beirflow.files.progress import Progress

QUERIES = 256
"""Queries that are searched at once."""

NO_PRODUCTS = 2**31 - 1
"""Queries below which faiss compares vectors one by one: products of matrices round by their shape and the number of threads."""


def read_index(path: str, documents: int) -> Any:
    """Read an index that was verified against its record.

    Args:
        path: The file.
        documents: Number of documents of the corpus.

    Returns:
        The index of faiss.

    Raises:
        ConfigError: faiss is not installed.
        DataError: It is an index of other documents.
    """
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
        cosine: Whether vectors are compared by the cosine.
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
    """Return the first pairs of query and document that were found.

    Args:
        rows: Rows of documents in the order of the index, int64 of shape (queries, n), -1 for none.
        excluded: For each query a row that is left out before the cut, or -1; shape (queries,).
        k: Documents to keep for each query.

    Returns:
        Number of the query, ascending, and row of the document of each pair, int64.
    """
    is_kept = (rows >= 0) & (rows != excluded[:, None])
    query, place = np.nonzero(is_kept & (is_kept.cumsum(axis=1) <= k))
    return query, rows[query, place]


def chunks_of(row: np.ndarray, sizes: Sequence[int]) -> list[np.ndarray]:
    """Return the places of the rows that are in each chunk.

    Args:
        row: Rows of the corpus, int64 of shape (n,).
        sizes: Documents of each chunk.

    Returns:
        For each chunk, int64 numbers of some of the n rows, ascending.
    """
    chunk = np.searchsorted(np.cumsum(sizes), row, side="right")
    return [np.flatnonzero(chunk == number) for number in range(len(sizes))]
