"""Uncertainty of means and ranks, by resampling queries and datasets: ``uncertainty.csv`` of ``docs/files.md``."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from string import ascii_lowercase
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, stdtrit

from beirflow.evaluation.paired_tests import LEVEL, holm

COLUMNS = (
    *("dataset", "measure", "resampled", "system", "mean", "low", "high"),
    *("rank", "rank_low", "rank_high", "first", "groups", "detectable"),
)
QUERIES, DATASETS = "queries", "datasets and queries"  # values of ``resampled``

DRAWN = 10_000
FEWEST = 5  # queries of a corpus, or datasets, that are drawn; of fewer, most draws lack some
SEED = 19790101
BOUNDS = (0.025, 0.975)
BLOCK = 1 << 22  # drawn queries at once

DECIMALS = 6  # of bounds: sums of the same numbers differ between machines in the sixteenth
EQUAL = 12  # decimals to which equal means agree

Values = Mapping[tuple[str, str], np.ndarray]  # by system and corpus, the value of every query, float64


def uncertainty_table(
    values: Mapping[str, Values],
    rows: Mapping[str, Sequence[str]],
    averages: Mapping[str, Sequence[str]],
    comparison: pd.DataFrame,
) -> pd.DataFrame:
    """Return the content of ``uncertainty.csv`` from the values of all systems on all corpora, by measure.

    ``rows`` are the corpora by dataset, ``averages`` the datasets by the label of a mean over them, ``comparison`` is
    ``significance.csv``.
    """
    measures, systems = list(values), list(dict.fromkeys(system for of in values.values() for system, _ in of))
    shape = (len(measures), len(systems))
    matrices = {
        corpus: np.stack([values[measure][system, corpus] for measure in measures for system in systems], axis=1)
        for corpora in rows.values()
        for corpus in corpora
    }
    # Column by column, as the metrics have them: along another axis the last digit of a sum may differ.
    means = {
        row: _mean([np.array([column.mean() for column in matrices[corpus].T.copy()]) for corpus in corpora])
        for row, corpora in rows.items()
    }
    draws = {row: _mean([resampled_means(matrices[corpus], corpus) for corpus in corpora]) for row, corpora in rows.items()}
    table: list[dict[str, Any]] = []
    for label, members in {**{row: [row] for row in rows}, **averages}.items():
        tested = comparison[comparison["dataset"] == label]
        sizes = [len(matrices[corpus]) for row in members for corpus in rows[row]]
        mean = _mean([means[row] for row in members]).reshape(shape)
        kinds = {QUERIES: (_mean([draws[row] for row in members]), tail(sizes))}
        if len(members) >= FEWEST:
            kinds[DATASETS] = resampled_datasets(np.stack([draws[row] for row in members]), label), tail([len(members)])
        for place, measure in enumerate(measures):
            pairs = tested[tested["measure"] == measure]
            for kind, (drawn, share) in kinds.items():
                known: dict[str, Any] = {"dataset": label, "measure": measure, "resampled": kind}
                p = np.array([])
                if kind == QUERIES:
                    p = pairs["p"].to_numpy(dtype=np.float64)
                    known["detectable"] = round(float(pairs["detectable"].median()), DECIMALS)
                table += _rows(known, systems, mean[place], drawn.reshape(-1, *shape)[:, place], share, p)
    return pd.DataFrame(table, columns=list(COLUMNS))


def resampled_means(values: np.ndarray, name: str) -> np.ndarray:
    """Return the means of queries that are drawn again with replacement, float64 of shape (draws, columns).

    ``values`` is float64 of shape (queries, columns), which all have the same draws. These start from the ``name`` of the corpus,
    so that they depend on no other corpus.
    """
    generator, n = np.random.default_rng([SEED, *name.encode()]), len(values)
    parts = []
    for start in range(0, DRAWN, block := max(1, BLOCK // n)):
        size = min(block, DRAWN - start)
        places = generator.integers(0, n, (size, n)) + n * np.arange(size)[:, None]
        counts = np.bincount(places.ravel(), minlength=size * n).reshape(size, n)
        parts.append(counts.astype(np.float64) @ values / n)
    return np.concatenate(parts)


def tail(sizes: Sequence[int]) -> float:
    """Return the share of draws on either side of a 95 % interval; not-a-number if any of the drawn samples is too small.

    Plain percentiles are too near for small samples: with ten queries, their interval holds the true mean in 91 % of all cases.
    Expanded ones are as far out as bounds of the t-test (Hesterberg 2015, doi:10.1080/00031305.2015.1089789): 95 % with ten
    queries, 93 % with five.
    """
    least, freedom = min(sizes), sum(sizes) - len(sizes)
    return float(ndtr(-np.sqrt(least / (least - 1)) * stdtrit(freedom, BOUNDS[1]))) if least >= FEWEST else np.nan


def resampled_datasets(draws: np.ndarray, name: str) -> np.ndarray:
    """Return the means over datasets that are drawn with replacement, each with one of its draws of queries.

    ``draws`` is float64 of shape (datasets, draws, columns), of :func:`resampled_means`, the result float64 of shape (draws,
    columns). Draws start from the ``name`` of the mean.
    """
    generator = np.random.default_rng([SEED, *name.encode()])
    datasets, drawn, _ = draws.shape
    total = np.zeros_like(draws[0])
    # A dataset that is drawn twice has other queries each time.
    for _ in range(datasets):
        total += draws[generator.integers(0, datasets, drawn), generator.integers(0, drawn, drawn)]
    return total / datasets


def _mean(parts: Sequence[np.ndarray]) -> np.ndarray:
    mean: np.ndarray = np.mean(parts, axis=0)
    return mean


def _rows(
    known: Mapping[str, Any], systems: Sequence[str], means: np.ndarray, drawn: np.ndarray, share: float, p: np.ndarray
) -> Iterator[dict[str, Any]]:
    """Yield the rows of all systems by one measure, from the share of draws beyond each bound, and p of every pair, if any."""
    ranks = pd.Series(-means.round(EQUAL)).rank().to_numpy()
    drawn = drawn.round(EQUAL)
    drawn_ranks = pd.DataFrame(-drawn).rank(axis=1).to_numpy()
    best = drawn == drawn.max(axis=1, keepdims=True)
    first = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    bounds = (0, 1) if np.isnan(share) else (share, 1 - share)
    of_means = np.quantile(drawn, bounds, axis=0).round(DECIMALS)
    of_ranks = np.quantile(drawn_ranks, bounds, axis=0, method="inverted_cdf")
    # Queries with one value do not estimate others.
    of_means[:, np.ptp(of_means, axis=0) == 0] = np.nan
    if np.isnan(share):
        of_means[:], of_ranks[:], first[:] = np.nan, np.nan, np.nan
    pairs = list(zip(combinations(range(len(systems)), 2), holm(p), strict=False))
    apart = {pair for pair, each in pairs if each < LEVEL}
    tested = {system for pair, each in pairs if not np.isnan(each) for system in pair}
    letters = group_letters(np.argsort(ranks, kind="stable").tolist(), apart) if len(p) else []
    for place, system in enumerate(systems):
        (low, high), (rank_low, rank_high) = of_means[:, place], of_ranks[:, place]
        numbers = {"mean": means[place], "low": low, "high": high, "rank": ranks[place], "rank_low": rank_low}
        numbers |= {"rank_high": rank_high, "first": round(float(first[place]), DECIMALS)}
        # A system without a test would share a letter with all.
        yield {**known, "system": system, **numbers, "groups": letters[place] if place in tested else None}


def group_letters(order: Sequence[int], apart: set[tuple[int, int]]) -> list[str]:
    """Return, for each number, letters such that two numbers share one exactly if they are not ``apart``.

    Groups have their letters in ``order``, that with the first number first.
    """
    groups = [frozenset(order)]
    for pair in sorted(apart):
        split = [group - {each} for group in groups if group.issuperset(pair) for each in pair]
        split += [group for group in groups if not group.issuperset(pair)]
        # A group within another is redundant.
        groups = [group for group in set(split) if not any(group < other for other in split)]
    groups.sort(key=lambda group: sorted(order.index(each) for each in group))
    return [" ".join(letter(place) for place, group in enumerate(groups) if each in group) for each in range(len(order))]


def letter(number: int) -> str:
    """Return the letter of a group: a to z, then aa and so on."""
    return ("" if number < len(ascii_lowercase) else letter(number // len(ascii_lowercase) - 1)) + ascii_lowercase[number % 26]
