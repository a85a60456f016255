"""Data of the figures, read from the results; numbers that no other table has are written as CSV.

``docs/files.md`` describes ``pareto.csv`` and ``critical_difference.csv``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from beirflow.config.main_measure import MAIN_MEASURE
from beirflow.core.csv_files import read_named_csv, write_csv
from beirflow.core.records import read_json
from beirflow.evaluation.ranks import alike, average_ranks, friedman
from beirflow.evaluation.scores import read_per_query
from beirflow.evaluation.uncertainty import letter
from beirflow.report.analysis.lengths import Lengths, added_up, by_name

OF_QUERIES = ("queries", "search", "merge", "fuse", "rerank")  # stages of a query, once everything is indexed

FRONTS = {"seconds_per_query": "front_of_seconds", "index_bytes": "front_of_bytes"}
"""By kind of cost, the column of its Pareto front."""

Means = Mapping[tuple[str, str], Mapping[str, float]]  # by system and dataset, the measures

Blocks = Sequence[Sequence[str]]
"""Datasets whose ranks are averaged, grouped by corpus, without those that any compared system was trained on."""


def write_figure_tables(
    *, means_paths: Sequence[str], costs_path: str, blocks: Blocks, folder: str, main_measure: str = MAIN_MEASURE
) -> None:
    """Write the tables from the metrics of every system on every dataset and ``cost.csv``."""
    means = means_of(means_paths)
    write_csv(pareto_table(means, read_named_csv(costs_path), main_measure), Path(folder, "pareto.csv"))
    write_csv(ranks_table(means, main_measure, blocks), Path(folder, "critical_difference.csv"))


def means_of(paths: Sequence[str]) -> Means:
    """Return the measures in some records of means, by system and dataset."""
    return {(record["system"], record["dataset"]): record["measures"] for record in map(read_json, paths)}


def pareto_table(means: Means, costs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return ``pareto.csv`` from the measures and ``cost.csv``."""
    systems, scores = _scores(means, measure)
    table = pd.DataFrame({"system": systems, "datasets": scores.shape[1], measure: scores.mean(axis=1)})
    of_system = [costs[costs["system"] == system] for system in systems]
    table["seconds_per_query"] = [_query_seconds(part) / part["queries"].sum() for part in of_system]
    # The total size is unknown if that of any dataset is.
    table["index_bytes"] = [part["index_bytes"].sum(skipna=False) for part in of_system]
    for cost, column in FRONTS.items():
        table[column] = on_front(table[measure].to_numpy(), table[cost].to_numpy())
    table["devices"] = [", ".join(sorted(set(", ".join(part["devices"].dropna()).split(", ")) - {""})) for part in of_system]
    return table


def _scores(means: Means, measure: str) -> tuple[list[str], np.ndarray]:
    """Return the systems, and the values of a measure, float64 of shape (systems, datasets)."""
    systems, datasets = (list(dict.fromkeys(names)) for names in zip(*means, strict=True))
    return systems, np.array([[means[system, dataset][measure] for dataset in datasets] for system in systems])


def _query_seconds(costs: pd.DataFrame) -> float:
    """Return the seconds of all queries; not-a-number if the time of a search is unknown."""
    known = bool(costs["search_seconds"].notna().all())
    return float(costs[[f"{stage}_seconds" for stage in OF_QUERIES]].sum().sum()) if known else float("nan")


def on_front(scores: np.ndarray, costs: np.ndarray) -> list[bool]:
    """Test by system whether it is on the Pareto front: its cost is known, and no other system dominates it.

    Higher scores and lower costs are better; unknown costs are not-a-number.
    """
    as_good, as_cheap = scores >= scores[:, None], costs <= costs[:, None]
    better = (scores > scores[:, None]) | (costs < costs[:, None])
    # Comparisons with not-a-number are false, so an unknown cost beats no other.
    beaten = (as_good & as_cheap & better).any(axis=1)
    return [bool(value) for value in ~beaten & ~np.isnan(costs)]


def ranks_table(means: Means, measure: str, blocks: Blocks) -> pd.DataFrame:
    """Return ``critical_difference.csv``, without groups and tests if there are too few systems or blocks."""
    systems = list(dict.fromkeys(system for system, _ in means))
    of_systems = ([np.mean([means[system, name][measure] for name in block]) for block in blocks] for system in systems)
    scores = np.array(list(of_systems), np.float64)
    table = pd.DataFrame(
        {"system": systems, "average_rank": average_ranks(scores) if blocks else np.nan, "datasets": len(blocks)}
    )
    table = table.sort_values("average_rank", kind="stable", ignore_index=True)
    test = friedman(scores)
    spans = alike(table["average_rank"].tolist(), test) if test else []
    letters = [" ".join(letter(i) for i, (first, last) in enumerate(spans) if first <= row <= last) for row in range(len(table))]
    table["groups"] = [names or None for names in letters]
    for column in ("f", "p", "critical_difference"):
        table[column] = getattr(test, column) if test else np.nan
    return table


@dataclass(frozen=True)
class Results:
    """Results of all systems on all datasets, in the order of the configuration, for the figures.

    ``means_paths`` are of every system on every dataset, ``corpus_means_paths`` and ``per_query_paths`` on every corpus, in the
    same order; ``rows`` has the corpora of every dataset. A file is read when it is first used; DataError if values are not those
    that were recorded.
    """

    means_paths: Sequence[str]
    corpus_means_paths: Sequence[str]
    per_query_paths: Sequence[str]
    inspection_paths: Sequence[str]
    comparison_path: str
    costs_path: str
    rows: Mapping[str, Sequence[str]]
    baseline: str
    blocks: Blocks
    main_measure: str = MAIN_MEASURE

    @property
    def systems(self) -> list[str]:
        """Names of all systems."""
        return list(dict.fromkeys(system for system, _ in self.means))

    @property
    def datasets(self) -> list[str]:
        """Names of all datasets."""
        return list(self.rows)

    @cached_property
    def means(self) -> Means:
        """Measures by system and dataset."""
        return means_of(self.means_paths)

    @cached_property
    def per_query(self) -> dict[tuple[str, str], np.ndarray]:
        """Main measure of every query by system and dataset, of all forums together, float64."""
        of_corpus = {}
        for means_path, path in zip(self.corpus_means_paths, self.per_query_paths, strict=True):
            means, table = read_per_query(means_path, path, [self.main_measure])
            of_corpus[means["system"], means["dataset"]] = table[0].to_numpy()
        return {
            (system, row): np.concatenate([of_corpus[system, corpus] for corpus in corpora])
            for system in self.systems
            for row, corpora in self.rows.items()
        }

    @cached_property
    def lengths(self) -> dict[str, Lengths]:
        """Lengths in words by dataset, of all documents, of the relevant ones and of the first hits of every system."""
        of_corpus = {each["dataset"]: by_name(each["lengths"]) for each in map(read_json, self.inspection_paths)}
        return {row: added_up([of_corpus[corpus] for corpus in corpora]) for row, corpora in self.rows.items()}

    @cached_property
    def comparison(self) -> pd.DataFrame:
        """``significance.csv``."""
        return read_named_csv(self.comparison_path)

    @cached_property
    def costs(self) -> pd.DataFrame:
        """``cost.csv``."""
        return read_named_csv(self.costs_path)
