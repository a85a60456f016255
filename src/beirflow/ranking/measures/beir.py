"""MRR, R_cap, Hole and Accuracy, a hit rate, of the BEIR paper (Thakur et al. 2021, arXiv 2104.08663) and package."""

import numpy as np

from beirflow.ranking.judged_ranking import Ranking
from beirflow.ranking.measures.registry import measure, ratio


@measure("MRR", mteb="mrr")
def mrr(ranking: Ranking, k: int) -> np.ndarray:
    """1 over the rank of the first relevant document, 0 beyond rank k."""
    return np.where(ranking.hits(k) > 0, 1 / (ranking.is_relevant[:, :k].argmax(axis=1) + 1), 0.0)


@measure("R_cap")
def r_cap(ranking: Ranking, k: int) -> np.ndarray:
    """Relevant documents among the first k, over k or all relevant ones, whichever is less (BEIR)."""
    return ratio(ranking.hits(k), np.minimum(ranking.relevant, k))


@measure("Hole", ranks_systems=False)
def hole(ranking: Ranking, k: int) -> np.ndarray:
    """Share of the first k documents that are judged for no query (BEIR)."""
    return (ranking.retrieved[:, :k] & (ranking.documents[:, :k] < 0)).sum(axis=1) / k


@measure("Accuracy", mteb="hit_rate")
def accuracy(ranking: Ranking, k: int) -> np.ndarray:
    """Share of queries with a relevant document among the first k (BEIR)."""
    return (ranking.hits(k) > 0).astype(np.float64)
