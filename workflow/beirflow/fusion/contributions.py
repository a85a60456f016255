"""The contribution of a run to the scores of its documents, in float64, as Pyserini and ranx define it.

Reciprocal ranks: 1 / (k + rank). Scores, which are multiplied with the weight of their run after that:

- ``none``: the score;
- ``min-max``: (score - lowest) / (highest - lowest) of the query's documents; 1 where all are equal, as Pyserini says (ranx: 0);
- ``z-score``: (score - mean) / standard deviation of the query's documents; 0 where all are equal, as ranx says.

A document that a run does not have gets 0 from it.
"""

import numpy as np

from beirflow.fusion.settings import FusionSettings

DEFAULT_K = 60


def contributions(settings: FusionSettings, query: np.ndarray, score: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Return the contribution of one run, without its weight.

    Args:
        settings: The system.
        query: Number of the query of each document, integers of shape (n,), ascending.
        score: float32 of shape (n,).
        rank: From 1, integers of shape (n,).

    Returns:
        float64 of shape (n,).
    """
    if settings.method == "rrf":
        return 1 / ((DEFAULT_K if settings.k is None else settings.k) + rank.astype(np.float64))
    return _normalized(settings.normalize or "none", query, score.astype(np.float64))


def _normalized(how: str, query: np.ndarray, score: np.ndarray) -> np.ndarray:
    if how == "none" or not len(query):
        return score
    starts = np.flatnonzero(np.append(True, query[1:] != query[:-1]))
    counts = np.diff(np.append(starts, len(query)))
    if how == "min-max":
        lowest, highest = (np.repeat(of.reduceat(score, starts), counts) for of in (np.minimum, np.maximum))
        return np.where(highest > lowest, (score - lowest) / np.where(highest > lowest, highest - lowest, 1), 1.0)
    centered = score - np.repeat(np.add.reduceat(score, starts) / counts, counts)
    spread = np.repeat(np.sqrt(np.add.reduceat(centered**2, starts) / counts), counts)
    varies = np.repeat(np.maximum.reduceat(score, starts) > np.minimum.reduceat(score, starts), counts)
    return np.where(varies, centered / np.where(varies, spread, 1), 0.0)
