"""F1 (van Rijsbergen 1979), the harmonic mean of P and Recall at k."""

import numpy as np

from beirflow.ranking.judged_ranking import Ranking
from beirflow.ranking.measures.registry import measure, ratio


@measure("F1")
def f1(ranking: Ranking, k: int) -> np.ndarray:
    """Harmonic mean of P and Recall."""
    hits = ranking.hits(k)
    precision, recall = hits / k, ratio(hits, ranking.relevant)
    return ratio(2 * precision * recall, precision + recall)
