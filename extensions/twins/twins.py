"""Scores of systems on a dataset and on its twin: differences, changes of ranks and Spearman's correlation, with intervals.

Draws are of the queries of both together, so a query that both have counts for both in each draw: their scores go together, which
makes intervals of differences narrower. Without common queries, both are drawn as if alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from beirflow.core import layout
from beirflow.evaluation.scores import read_per_query
from beirflow.evaluation.uncertainty import DECIMALS, EQUAL, resampled_means, tail
from beirflow.report.results import Results


@dataclass(frozen=True)
class Pair:
    """A dataset and its twin, or the mean of several such pairs."""

    dataset: str  # or the label of the mean
    systems: Sequence[str]
    whole: np.ndarray  # means of the systems, below them those of all draws, float64 of shape (1 + draws, systems)
    twin: np.ndarray  # likewise
    sizes: Sequence[int]  # queries of each dataset and of each twin

    @property
    def share(self) -> float:
        """Share of draws beyond each bound; not-a-number for too few queries."""
        return tail(self.sizes)

    def bounds(self, drawn: np.ndarray, method: str = "linear") -> np.ndarray:
        """Return the bounds of what was drawn, of shape (draws, …): float64 of shape (2, …), not-a-number for too few queries."""
        if np.isnan(self.share):
            return np.full((2, *drawn.shape[1:]), np.nan)
        bounds: np.ndarray = np.nanquantile(drawn, (self.share, 1 - self.share), axis=0, method=method).round(DECIMALS)  # type: ignore[call-overload]
        return bounds

    def rows(self) -> pd.DataFrame:
        """Return a row for each system, in the order of their ranks on the whole dataset."""
        difference, ranks, twin_ranks = self.twin - self.whole, ranks_of(self.whole), ranks_of(self.twin)
        change = twin_ranks - ranks
        (low, high), (least, most) = self.bounds(difference[1:]), self.bounds(change[1:], "inverted_cdf")
        columns = {"dataset": self.dataset, "system": self.systems, "whole": self.whole[0], "twin": self.twin[0]}
        columns |= {"difference": difference[0], "low": low, "high": high, "rank": ranks[0], "twin_rank": twin_ranks[0]}
        columns |= {"change": change[0], "change_low": least, "change_high": most}
        return pd.DataFrame(columns).sort_values("rank", kind="stable")

    def order(self) -> dict[str, object]:
        """Return Spearman's correlation of the ranks and Kendall's tau-b, with intervals, and the verdict of that of tau-b."""
        found: dict[str, object] = {"dataset": self.dataset, "systems": len(self.systems)}
        low = high = np.nan
        for name, drawn in (("rho", spearman(ranks_of(self.whole), ranks_of(self.twin))), ("tau", tau_b(self.whole, self.twin))):
            low, high = self.bounds(drawn[1:]) if np.isfinite(drawn[0]) else (np.nan, np.nan)
            found |= {name: drawn[0], f"{name}_low": low, f"{name}_high": high}
        return found | {"verdict": "the orders agree" if low > 0 else "the orders disagree" if high < 0 else "undecided"}


@lru_cache(maxsize=2)  # several tables are made of them
def pairs_of(results: Results, prefixes: tuple[str, ...]) -> list[Pair]:
    """Return the pairs of datasets and twins of these results, and of several the mean; forums have no twins.

    The name of a twin is that of the dataset behind a prefix.
    """
    twins = {row: prefix + row for row in results.rows for prefix in prefixes if prefix + row in results.rows}
    pairs = [_pair(results, *names) for names in twins.items() if all(len(results.rows[name]) == 1 for name in names)]
    if len(pairs) < 2:
        return pairs
    whole, twin = (np.mean([getattr(pair, key) for pair in pairs], axis=0) for key in ("whole", "twin"))
    label = f"mean of {len(pairs)} ({', '.join(pair.dataset for pair in pairs)})"
    return [*pairs, Pair(label, pairs[0].systems, whole, twin, [size for pair in pairs for size in pair.sizes])]


def _pair(results: Results, dataset: str, twin: str) -> Pair:
    values = [_values(results, name) for name in (dataset, twin)]
    queries = values[0].index.union(values[1].index)
    columns = []
    for of in values:
        known = np.isin(queries, of.index)[:, None].astype(float)
        columns += [of.reindex(queries).fillna(0).to_numpy(), known]
    drawn = resampled_means(np.hstack(columns), twin)
    size, means = len(results.system_names), []
    for place, of in enumerate(values):
        sums, share = np.split(drawn[:, place * (size + 1) : (place + 1) * (size + 1)], [size], axis=1)
        of_draws = np.divide(
            sums, share, out=np.full_like(sums, np.nan), where=share > 0
        )  # a draw may have no query of a small one
        means.append(np.vstack([of.mean().to_numpy(), of_draws]))
    return Pair(dataset, results.system_names, means[0], means[1], [len(of) for of in values])


def _values(results: Results, dataset: str) -> pd.DataFrame:
    """Return the main measure by query, a column a system."""
    measure, columns = results.main_measure, dict[str, pd.Series]()
    for path, names in results.paths(layout.PER_QUERY).items():
        if names["dataset"] == dataset:
            _, table = read_per_query(str(results.folder / layout.METRICS(**names)), str(path), ["query_id", measure])
            columns[names["system"]] = pd.Series(table[measure].to_numpy(), table["query_id"].to_pylist())
    return pd.DataFrame({system: columns[system] for system in results.system_names})


def ranks_of(means: np.ndarray) -> np.ndarray:
    """Return the ranks of systems from 1, the best, for means of shape (rows, systems); equal ones have the mean of theirs."""
    ranks: np.ndarray = pd.DataFrame(-means.round(EQUAL)).rank(axis=1).to_numpy()
    return ranks


def spearman(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return Spearman's correlation of every row of ranks of shape (rows, systems); not-a-number where all in a row are equal."""
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (one, other))
    root = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    rho: np.ndarray = np.divide((a * b).sum(axis=1), root, out=np.full(len(a), np.nan), where=root > 0)
    return rho


def tau_b(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return Kendall's tau-b of every row of means of shape (rows, systems); not-a-number where all in a row are equal."""
    counts = np.zeros((3, len(one)))
    for place in range(one.shape[1] - 1):
        a, b = (np.sign((of[:, place, None] - of[:, place + 1 :]).round(EQUAL)) for of in (one, other))
        counts += [(a * b).sum(axis=1), np.abs(a).sum(axis=1), np.abs(b).sum(axis=1)]
    same, in_one, in_other = counts
    tau: np.ndarray = np.divide(same, root := np.sqrt(in_one * in_other), out=np.full(len(one), np.nan), where=root > 0)
    return tau
