"""The data of the figures, read from the result files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from beirflow.analysis.lengths import added_up
from beirflow.evaluation.main_measure import MAIN_MEASURE
from beirflow.evaluation.scores import read_per_query
from beirflow.files.csv_files import read_named_csv
from beirflow.files.records import read_json


@dataclass(frozen=True)
class Results:
    """The results of all systems on all datasets.

    Attributes:
        systems: Names, in the order of the configuration.
        baseline: The one that the others are compared with.
        datasets: Names, in the order of the configuration.
        measure: The main measure.
        means: By system and dataset, the measures.
        per_query: By system and dataset, the main measure of every query, of all forums together; float64.
        lengths: By dataset, by name (``all``, ``relevant``, systems), the edges and counts of the lengths in words.
        comparison: ``significance.csv``.
        costs: ``cost.csv``.
    """

    systems: list[str]
    baseline: str
    datasets: list[str]
    measure: str
    means: dict[tuple[str, str], dict[str, float]]
    per_query: dict[tuple[str, str], np.ndarray]
    lengths: dict[str, dict[str, tuple[list[int], list[int]]]]
    comparison: pd.DataFrame
    costs: pd.DataFrame


@dataclass(frozen=True)
class FigureFiles:
    """The files that the figures show.

    Attributes:
        means_paths: The ``metrics`` JSON of every system on every dataset.
        corpus_means_paths: The same on every corpus.
        per_query_paths: The values of every query on every corpus, in the same order.
        inspection_paths: The inspection of every corpus.
        comparison_path: ``significance.csv``.
        costs_path: ``cost.csv``.
        rows: By dataset the names of its corpora.
        baseline: System that the others are compared with.
        main_measure: The measure that they show.
    """

    means_paths: Sequence[str]
    corpus_means_paths: Sequence[str]
    per_query_paths: Sequence[str]
    inspection_paths: Sequence[str]
    comparison_path: str
    costs_path: str
    rows: Mapping[str, Sequence[str]]
    baseline: str
    main_measure: str = MAIN_MEASURE


def read_results(files: FigureFiles) -> Results:
    """Read the results that figures show; raise DataError if values are not those that were recorded."""
    every = [read_json(path) for path in files.means_paths]
    systems = list(dict.fromkeys(means["system"] for means in every))
    of_corpus = {}
    for means_path, path in zip(files.corpus_means_paths, files.per_query_paths, strict=True):
        means, table = read_per_query(means_path, path, [files.main_measure])
        of_corpus[means["system"], means["dataset"]] = table[0].to_numpy()
    inspections = {inspection["dataset"]: inspection for inspection in map(read_json, files.inspection_paths)}
    return Results(
        systems=systems,
        baseline=files.baseline,
        datasets=list(files.rows),
        measure=files.main_measure,
        means={(means["system"], means["dataset"]): means["measures"] for means in every},
        per_query={
            (system, row): np.concatenate([of_corpus[system, corpus] for corpus in corpora])
            for system in systems
            for row, corpora in files.rows.items()
        },
        lengths={
            row: added_up([_named(inspections[corpus]["lengths"]) for corpus in corpora]) for row, corpora in files.rows.items()
        },
        comparison=read_named_csv(files.comparison_path),
        costs=read_named_csv(files.costs_path),
    )


def _named(lengths: Mapping[str, Any]) -> dict[str, Any]:
    """Return the histograms of one corpus by name."""
    return {"all": lengths["all"], "relevant": lengths["relevant"], **lengths["retrieved"]}
