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
    """Rank given pairs of query and document, with the scores that they have among all.

    ``query``, ascending, and ``row`` are int64 of shape (pairs,); everything else is as for :func:`exact_top_k`.
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
