"""Test whether scores of relevant documents changed otherwise than the rest. Rounding does not know relevance; a forger does.

So no tolerance, however wide the precision of a system makes it, has room for scores that all move in one direction.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import t as student
from scipy.stats import ttest_ind

from beirflow.runs.spot_check import Finding

LEAST_PAIRS = 6
"""Minimum number of relevant pairs: of fewer, chance and drift look the same."""

CHANCE = 1e-4
"""Largest probability of an accident that is taken for a drift."""

MOST_OTHERS = 200
"""Maximum number of queries or documents with which recomputed ones are compared."""

LEAST_DRIFT = {"float32": 5e-6, "float16": 1e-4, "bfloat16": 1e-3}
"""By precision, the smallest mean change of the scores of relevant pairs that is a drift, over the lengths of both."""


class Drift(NamedTuple):
    """Change of the scores of relevant pairs, beyond that of the others."""

    pairs: int  # number of relevant pairs
    mean: float  # mean change
    one_sided: bool  # it is no accident

    @property
    def found(self) -> str:
        """Sentence that is appended to the other findings."""
        return f"; scores of {self.pairs} relevant pairs are {self.mean:+.1e} apart from those of others, all in one direction"


EXPECTED = "differences that do not know what is relevant"


def unless_moved(finding: Finding, moved: Drift | None) -> Finding:
    """Return a finding that passed within a tolerance as failed, if scores of relevant documents moved in one direction."""
    if finding.passed and moved is not None and moved.one_sided:
        return Finding(False, finding.found + moved.found, EXPECTED)
    return finding


def drift_of(beyond: np.ndarray, least: float) -> Drift | None:
    """Measure the common direction of changes, by Student's t-test.

    Args:
        beyond: How far the score of each relevant pair changed, less what others changed, shape (pairs,).
        least: The smallest mean that is a drift.

    Returns:
        The drift; None for fewer than ``LEAST_PAIRS`` pairs.
    """
    if len(beyond) < LEAST_PAIRS:
        return None
    mean, spread = float(beyond.mean()), float(beyond.std(ddof=1)) / len(beyond) ** 0.5
    # Changes that are all equal have no spread.
    chance = 2 * float(student.sf(abs(mean) / max(spread, 1e-30), len(beyond) - 1))
    return Drift(len(beyond), mean, one_sided=chance < CHANCE and abs(mean) > least)


def drift_of_scores(changed: np.ndarray, rows: np.ndarray, columns: np.ndarray, least: float) -> Drift | None:
    """Measure the drift of texts that were made again, from their scores with relevant and with other counterparts.

    Args:
        changed: How far the score of each text with each of the others changed, shape (texts, others).
        rows: Relevant pairs: rows.
        columns: Their columns.
        least: The smallest mean that is a drift.

    Returns:
        The drift; None for fewer than ``LEAST_PAIRS`` pairs, or where there is nothing else to compare with.
    """
    if changed.shape[1] < 2:
        return None
    return drift_of(changed[rows, columns] - changed[rows].mean(axis=1), least)


def drift_over_rivals(
    changed: np.ndarray,
    relevant: tuple[np.ndarray, np.ndarray],
    rivals: tuple[np.ndarray, np.ndarray],
    documents: int,
    least: float,
) -> Drift | None:
    """Measure how far scores of relevant documents rose above those of their rivals, by Welch's t-test over documents.

    Rivals are in the run of a query and relevant to nothing. A run selects high scores, which rounding
    raised rather than lowered: that selection makes no false alarm.

    Args:
        changed: How far the score of each text with each of the others changed, shape (texts, others).
        relevant: Relevant pairs: rows and columns.
        rivals: Pairs of the run: rows and columns.
        documents: Axis of the documents in ``changed``.
        least: The smallest mean that is a drift.

    Returns:
        The drift; None for fewer than ``LEAST_PAIRS`` documents of either kind.
    """
    number = changed.shape[documents]
    others = ~np.isin(rivals[documents], relevant[documents])
    for_it = _means(relevant[documents], changed[relevant], number)
    against_it = _means(rivals[documents][others], changed[rivals][others], number)
    if min(len(for_it), len(against_it)) < LEAST_PAIRS:
        return None
    mean = float(for_it.mean() - against_it.mean())
    chance = float(ttest_ind(for_it, against_it, equal_var=False, alternative="greater").pvalue)
    return Drift(len(relevant[0]), mean, one_sided=chance < CHANCE and mean > least)


def _means(groups: np.ndarray, values: np.ndarray, number: int) -> np.ndarray:
    """Return the mean value of each group that has values, float64."""
    counts = np.bincount(groups, minlength=number)
    return np.bincount(groups, values, number)[counts > 0] / counts[counts > 0]


def product_changes(stored: np.ndarray, again: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Subtract recomputed from stored inner products, over the lengths of both vectors.

    Args:
        stored: Stored vectors, shape (n, dim).
        again: The same, recomputed.
        others: Vectors of their counterparts, shape (m, dim).

    Returns:
        The changes, float64 of shape (n, m).
    """
    lengths = np.linalg.norm(stored, axis=1, keepdims=True) * np.linalg.norm(others, axis=1)
    return ((stored.astype(np.float64) - again) @ others.astype(np.float64).T) / np.maximum(lengths, 1e-30)
