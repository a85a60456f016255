"""NDCG with the gain 2^grade - 1 (Burges et al. 2005, doi:10.1145/1102351.1102363)."""

import numpy as np

from beirflow.ranking.judged_ranking import Ranking
from beirflow.ranking.measures.registry import measure, ratio
from beirflow.ranking.measures.weights import discounts


@measure("NDCG_exp")
def ndcg_exp(ranking: Ranking, k: int) -> np.ndarray:
    """NDCG with gains of 2^grade - 1."""
    return ratio(_dcg(ranking.grades[:, :k]), _dcg(ranking.ideal[:, :k]))


def _dcg(grades: np.ndarray) -> np.ndarray:
    """Return the discounted cumulative gain, of shape (q,); negative grades count as 0."""
    gains = np.ldexp(1.0, np.maximum(grades, 0)) - 1
    return (gains / discounts(grades.shape[1])).sum(axis=1)
