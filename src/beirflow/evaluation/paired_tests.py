"""Statistics of paired differences: tests, intervals, effect sizes, and corrections for the number of tests.

``docs/files.md`` names their sources; :mod:`beirflow.evaluation.significance` applies them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit  # scipy.stats has the same with names; to import it takes as long as pandas

LEVEL = 0.05  # at which all tests of the results are made

HIGHER, LOWER = "▲", "▼"
"""Marks of significant differences to the baseline, corrected for all comparisons with it on a measure."""

Marks = Mapping[tuple[str, str], str]  # marks by system and dataset
DRAWN = 100_000
EXACT = 16  # differences up to which all signs are tried: 65,536

MARGIN = 0.005  # mean difference that counts as none: half a point, less than the least differences that most datasets can show
SEED = 20211018
BLOCK = 1 << 22  # signs drawn at once, of 8 bytes each
ROUNDING = 1e-12  # above the difference of two sums of the same numbers in another order, for values of at most 1


def randomisation_test(differences: np.ndarray, drawn: int = DRAWN) -> np.ndarray:
    """Compute two-sided paired randomisation tests.

    Args:
        differences: Weighted difference of every query for some pairs of systems, float64 of shape (queries, pairs); their sum
            over the queries is tested.
        drawn: Number of sign assignments to draw if there are too many to try all.

    Returns:
        p of every pair, float64 of shape (pairs,), independent of the other pairs.
    """
    p = np.empty(differences.shape[1])
    few = np.count_nonzero(differences, axis=0) <= EXACT
    # The differences of two pairs are not 0 on different queries, so each pair has signs of its own.
    for pair in np.flatnonzero(few):
        column = differences[:, pair]
        numbers = column[column != 0]
        positive = (np.arange(1 << len(numbers))[:, None] >> np.arange(len(numbers))) & 1
        p[pair] = _as_large(positive.astype(np.float64), numbers[:, None])[0] / len(positive)
    if not few.all():
        many = differences[:, ~few]
        # The observed signs count among the drawn ones, so that p is never 0.
        p[~few] = (sum(_as_large(positive, many) for positive in _drawn_signs(len(many), drawn)) + 1) / (drawn + 1)
    return p


def _drawn_signs(queries: int, drawn: int) -> Iterator[np.ndarray]:
    """Yield blocks of random signs, 1 for positive and 0 for negative, float64 of shape (n, queries)."""
    generator = np.random.default_rng(SEED)
    block = max(1, BLOCK // queries)
    for start in range(0, drawn, block):
        signs = generator.integers(0, 256, (min(block, drawn - start), -(-queries // 8)), np.uint8)
        yield np.unpackbits(signs, axis=1, count=queries).astype(np.float64)


def _as_large(positive: np.ndarray, differences: np.ndarray) -> np.ndarray:
    """Count by pair how often the absolute sum under some signs is at least the observed one."""
    total = differences.sum(axis=0)
    # Positive minus negative differences are twice the positive ones less all.
    counts: np.ndarray = (np.abs(2 * (positive @ differences) - total) >= np.abs(total) - ROUNDING).sum(axis=0)
    return counts


def confidence_interval(
    strata: Sequence[np.ndarray], level: float = 0.95, weights: Sequence[float] | None = None
) -> tuple[float, float]:
    """Return the bounds for the mean of the means of strata, the differences of each forum or of the one corpus.

    Strata count alike unless they have ``weights``, whose sum is 1. Both bounds are not-a-number if a stratum has one query.
    """
    middle, error, freedom = _estimate(strata, weights)
    reach = error * float(stdtrit(freedom, (1 + level) / 2)) if error else error
    return middle - reach, middle + reach


def detectable_difference(
    strata: Sequence[np.ndarray], level: float = 0.95, power: float = 0.8, weights: Sequence[float] | None = None
) -> float:
    """Return the minimum detectable difference of the paired t-test with some power, given the spread of these differences.

    It is the standard error times the sum of the two quantiles of t (Bloom 1995, doi:10.1177/0193841X9501900504); not-a-number if
    a stratum, the differences of a forum or of the one corpus, has a single query, and where no difference is another than the
    others, which says nothing of their spread. Weights are as in :func:`confidence_interval`.
    """
    _, error, freedom = _estimate(strata, weights)
    return error * float(stdtrit(freedom, (1 + level) / 2) + stdtrit(freedom, power)) if error > 0 else np.nan


def paired_t_test(strata: Sequence[np.ndarray], weights: Sequence[float] | None = None) -> float:
    """Return the two-sided p of the t-test that belongs to :func:`confidence_interval`; 1 where nothing differs or is known.

    Where all queries differ alike, it is the probability that random signs are all the same.
    """
    middle, error, freedom = _estimate(strata, weights)
    if not error > 0:
        return 2.0 ** (1 - sum(map(len, strata))) if error == 0 and abs(middle) > ROUNDING else 1.0
    return float(2 * stdtr(freedom, -abs(middle) / error))


@dataclass(frozen=True)
class Equivalence:
    """Test of equivalence: whether a mean difference is surely inside a margin."""

    margin: float  # the largest difference that counts as none
    low: float  # lower bound of the 90 % interval of the mean difference
    high: float  # upper bound; the test at the level of 0.05 is that both are inside the margin
    p: float  # the larger p of the two one-sided t-tests
    equivalent: bool | None  # None if unknown, for a single query


def equivalence(strata: Sequence[np.ndarray], margin: float = MARGIN, level: float = 0.05) -> Equivalence:
    """Test by two one-sided t-tests that the mean difference is inside a margin.

    The method is TOST (Schuirmann 1987, doi:10.1007/BF01068419). Strata are as in :func:`confidence_interval`. A significant
    difference and equivalence may hold together: values that differ a little, always in one direction.
    """
    middle, error, freedom = _estimate(strata)
    low, high = confidence_interval(strata, 1 - 2 * level)
    if np.isnan(error):
        return Equivalence(margin, low, high, np.nan, None)
    inside = margin - abs(middle)
    # Without spread the mean difference is known.
    p = float(stdtr(freedom, -inside / error)) if error else float(inside <= 0)
    return Equivalence(margin, low, high, p, p < level)


def _estimate(strata: Sequence[np.ndarray], weights: Sequence[float] | None = None) -> tuple[float, float, float]:
    """Return the weighted mean of strata, its standard error, and the degrees of freedom (Welch, Satterthwaite)."""
    shares = np.full(len(strata), 1 / len(strata)) if weights is None else np.asarray(weights)
    middle = float(shares @ np.array([part.mean() for part in strata]))
    if min(map(len, strata)) < 2:
        return middle, np.nan, np.nan
    # The variance of equal numbers is often not 0, because their mean is rounded.
    parts = shares**2 * np.array([part.var(ddof=1) / len(part) if np.ptp(part) > ROUNDING else 0.0 for part in strata])
    freedom = parts.sum() ** 2 / (parts**2 / np.array([len(part) - 1 for part in strata])).sum() if parts.any() else np.nan
    return middle, float(np.sqrt(parts.sum())), float(freedom)


def effect_size(differences: np.ndarray, weights: np.ndarray) -> float:
    """Return Cohen's d_z of the differences of n queries with weights of sum 1: mean over standard deviation.

    The deviation is that with n - 1 if weights are equal; not-a-number where it is 0 or not defined.
    """
    n, mean = len(differences), float(weights @ differences)
    if n < 2 or np.ptp(differences) <= ROUNDING:
        return np.nan
    return mean / float(np.sqrt(weights @ (differences - mean) ** 2 * n / (n - 1)))


def holm(p: np.ndarray) -> np.ndarray:
    """Correct p values for their number by Holm's step-down method; float64 of shape (n,), in the same order, at most 1.

    Not-a-number is no test: it stays, and does not count.
    """
    tests = int((~np.isnan(p)).sum())
    order = np.argsort(p, kind="stable")[:tests]  # which has not-a-number at the end
    corrected = np.full(len(p), np.nan)
    # The running maximum keeps a larger p from being corrected to a smaller one.
    corrected[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(tests, 0, -1))) if tests else []
    return corrected


def corrected(comparison: pd.DataFrame) -> pd.Series:
    """Return ``p`` of rows of ``significance.csv`` after Holm's correction, by measure, for all datasets and for each mean."""
    family = comparison["dataset"].where(comparison["dataset"].str.contains("mean of "), "")
    by_family = comparison.groupby([comparison["measure"], family])["p"]
    return by_family.transform(lambda p: holm(p.to_numpy(dtype=np.float64)))


def against(comparison: pd.DataFrame, measure: str, baseline: str) -> pd.DataFrame:
    """Select the rows of ``significance.csv`` with a baseline on a measure; ``p_holm`` corrects for these alone."""
    with_baseline = (comparison["system_a"] == baseline) | (comparison["system_b"] == baseline)
    table = comparison[(comparison["measure"] == measure) & with_baseline]
    return table.assign(p_holm=corrected(table))


def significance_marks(comparison: pd.DataFrame, measure: str, baseline: str) -> Marks:
    """Return the marks of significant differences in a measure, by system and dataset; none if it was not tested."""
    marks = {}
    for row in against(comparison, measure, baseline).query("p_holm < @LEVEL").to_dict("records"):
        other, sign = (row["system_b"], -1) if row["system_a"] == baseline else (row["system_a"], 1)
        marks[str(other), str(row["dataset"])] = HIGHER if sign * row["difference"] > 0 else LOWER
    return marks
