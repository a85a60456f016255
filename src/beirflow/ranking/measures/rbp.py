"""Rank-biased precision (Moffat and Zobel 2008, doi:10.1145/1416950.1416952), with binary relevance.

A reader goes on from each document to the next with the probability p = 0.8: RBP@k is (1 - p) times the sum of p^(rank - 1) over
the ranks of relevant documents from 1 to k. It is ir_measures' ``RBP(p=0.8)`` of the first k documents, and at most 1 - p^k.
"""

import numpy as np

from beirflow.ranking.judged_ranking import Ranking
from beirflow.ranking.measures.registry import measure
from beirflow.ranking.measures.weights import powers

PERSISTENCE = 0.8


@measure("RBP")
def rbp(ranking: Ranking, k: int) -> np.ndarray:
    """Rank-biased precision of the first k documents, for a reader who goes on with probability 0.8."""
    return (1 - PERSISTENCE) * (ranking.is_relevant[:, :k] * powers(PERSISTENCE, k)).sum(axis=1)
