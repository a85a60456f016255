"""Comparison of systems over several datasets by their ranks.

J. Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 7 (2006): on every dataset the best system has the
rank 1, equal ones the mean of theirs; Friedman's test asks whether all average ranks are equal; where it rejects that, two
systems differ if their average ranks do so by the critical difference of the Nemenyi test or more. Friedman's chi-square rejects
too rarely; as Demšar advises, it becomes the F of R. L. Iman and J. M. Davenport (Communications in Statistics A 9, 1980): with n
datasets and k systems F = (n - 1) χ² / (n (k - 1) - χ²), with k - 1 and (k - 1)(n - 1) degrees of freedom.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial, prod

import numpy as np
import pandas as pd
import scipy  # scipy.stats is imported where ranks are compared: it takes as long as pandas

from beirflow.evaluation.paired_tests import LEVEL

FEWEST_SYSTEMS, FEWEST_DATASETS = 3, 5
"""Of two systems every dataset is a win or a loss; on fewer datasets F rejects more often than ``LEVEL`` (19 % for 3 by 3)."""

ROUNDING = 1e-9  # chi-square is below its maximum by less only if it is the maximum


@dataclass(frozen=True)
class Friedman:
    """Tests of average ranks."""

    # Iman and Davenport's, of Friedman's chi-square corrected for ties; infinite if every dataset ranks the systems alike
    f: float
    p: float  # of it, by the F distribution; if it is infinite, the exact probability of that
    critical_difference: float  # of Nemenyi, at ``LEVEL``

    @property
    def rejected(self) -> bool:
        """Test whether systems differ."""
        return self.p < LEVEL


def average_ranks(scores: np.ndarray) -> np.ndarray:
    """Return the mean over datasets of the ranks of systems, from 1, the best, for scores of shape (systems, datasets)."""
    ranks: np.ndarray = pd.DataFrame(-scores).rank().to_numpy().mean(axis=1)
    return ranks


def friedman(scores: np.ndarray) -> Friedman | None:
    """Test whether systems differ, by scores of shape (systems, datasets), higher being better.

    The result is None for fewer systems or datasets than it needs, and if all systems are equal on every dataset.
    """
    systems, datasets = scores.shape
    if systems < FEWEST_SYSTEMS or datasets < FEWEST_DATASETS or (scores == scores[0]).all():
        return None
    reach = critical_difference(systems, datasets)
    # Ranks ascend with values, and the best system has rank 1.
    chi_square = float(scipy.stats.friedmanchisquare(*-scores).statistic)
    rest = datasets * (systems - 1) - chi_square
    # Every dataset ranks alike: F is infinite, and the probability of one order on all datasets is exact.
    if rest < ROUNDING:
        orders = factorial(systems) / prod(factorial(count) for count in np.unique(scores[:, 0], return_counts=True)[1].tolist())
        return Friedman(np.inf, float(orders ** (1 - datasets)), reach)
    f = (datasets - 1) * chi_square / rest
    return Friedman(f, float(scipy.stats.f.sf(f, systems - 1, (systems - 1) * (datasets - 1))), reach)


def critical_difference(systems: int, datasets: int) -> float:
    """Return Nemenyi's critical difference of average ranks at ``LEVEL``.

    It is the studentised range over the square root of 2, times the standard error.
    """
    quantile = float(scipy.stats.studentized_range.ppf(1 - LEVEL, systems, np.inf)) / np.sqrt(2)
    return float(quantile * np.sqrt(systems * (systems + 1) / (6 * datasets)))


def alike(ranks: Sequence[float], test: Friedman) -> list[tuple[int, int]]:
    """Return the largest groups of at least two systems that the test does not separate, by first and last place in their ranks.

    Ranks are ascending; there is one group of all if the Friedman test does not reject that they are equal.
    """
    if not test.rejected:
        return [(0, len(ranks) - 1)]
    groups: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = max(place for place, other in enumerate(ranks) if other - rank < test.critical_difference)
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups
