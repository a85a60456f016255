"""Rank only the candidates of each query, for re-ranking datasets."""

import numpy as np
import torch

from beirflow.dense.chunk_blocks import Chunk, Vectors, prepare
from beirflow.dense.top_k import not_finite, score_candidates
from beirflow.jobs.threads import Threads
from beirflow.runs.ranking import Hits, merge_hits


def exact_of_pairs(
    queries: np.ndarray,
    documents: Vectors,
    query: np.ndarray,
    row: np.ndarray,
    id_order: np.ndarray,
    k: int,
    *,
    similarity: str,
    device: torch.device,
) -> Hits:
    """Some documents of each query by the ranking rule, with the scores that they have among all.

    Args:
        queries: float32 of shape (queries, dim).
        documents: float32 of shape (documents, dim); read in slices.
        query: Number of each pair's query, ascending, int64 of shape (n,).
        row: Row of each pair's document, int64 of shape (n,).
        id_order: Place of each document's id in byte order, integers of shape (documents,).
        k: Documents to keep for each query.
        similarity: ``dot`` or ``cosine``; a vector of zeros has cosine 0 with every other.
        device: Where to compute.

    Returns:
        Number of the query and row of the document, int32, and score, float32, of every hit, sorted by query and rank.

    Raises:
        DataError: The vectors hold infinity or not-a-number.
    """
    if not len(row):
        return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)
    with Threads(device) as threads:
        nothing = torch.full((len(queries),), -1, device=device)
        chunk = Chunk(prepare(queries, similarity, device), documents, nothing, similarity, threads)
        hits = score_candidates(chunk, torch.from_numpy(query).to(device), torch.from_numpy(row).to(device))
        if not np.isfinite(hits[2]).all():
            raise not_finite(chunk)
    return merge_hits([hits], lambda rows: id_order[rows], k)[:3]
