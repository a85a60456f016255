"""The ranking rule, written once: score descending as float32, then document id descending in byte order.

This is trec_eval's order. It is used for the cut at k in every chunk, in the merge, and in every measure.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def byte_order(ids: pa.Array) -> np.ndarray:
    """Position of every id in the byte order of all of them.

    Args:
        ids: n different ids.

    Returns:
        int64 of shape (n,); a larger number is a later id.
    """
    positions = np.empty(len(ids), dtype=np.int64)
    positions[pc.sort_indices(ids).to_numpy()] = np.arange(len(ids))
    return positions


def rank(queries: np.ndarray, scores: np.ndarray, id_order: np.ndarray, k: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Rank the documents of each query and keep the first k.

    Args:
        queries: Number of the query of each candidate, integers of shape (n,).
        scores: Score of each candidate, float32 of shape (n,).
        id_order: Place of each candidate's document id in byte order, integers of shape (n,).
        k: Documents to keep for each query; all if None.

    Returns:
        Indices of the candidates that are kept, sorted by query and then by rank; and their ranks from 1, int32.
    """
    order = np.lexsort((-id_order, -np.asarray(scores, dtype=np.float32), queries))
    sorted_queries = queries[order]
    first = np.searchsorted(sorted_queries, sorted_queries, side="left")
    ranks = (np.arange(len(order)) - first + 1).astype(np.int32)
    if k is None:
        return order, ranks
    return order[ranks <= k], ranks[ranks <= k]
