"""Significance of differences: paired tests on the values of every query, for every two systems on every dataset and mean.

``uncertainty.csv`` (:mod:`beirflow.evaluation.uncertainty`) is made from the same values: intervals of means, and ranks.
``docs/files.md`` describes ``significance.csv``.
"""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from beirflow.config.main_measure import MAIN_MEASURE, cutoff_of
from beirflow.core.csv_files import write_csv
from beirflow.core.errors import DataError
from beirflow.evaluation.paired_tests import (
    DRAWN,
    LEVEL,
    confidence_interval,
    corrected,
    detectable_difference,
    effect_size,
    paired_t_test,
    randomisation_test,
)
from beirflow.evaluation.scores import most_documents, read_per_query
from beirflow.evaluation.uncertainty import uncertainty_table

COLUMNS = (
    *("dataset", "measure", "system_a", "system_b", "queries", "mean_a", "mean_b"),
    *("difference", "low", "high", "p", "p_holm", "effect_size", "detectable"),
)
ALSO = "Recall@100"  # tested as well, where it was measured

SIGNS_PER_TEST = 40
"""With so many signs for each test of a measure, the least p times the number of tests is at most half of ``LEVEL``."""

Values = dict[tuple[str, str], np.ndarray]  # by system and corpus, the value of every query, float64 in byte order of the ids
Most = dict[tuple[str, str], int]  # by system and corpus, the most documents of a query, of runs that end before the corpus does
log = logging.getLogger(__name__)


def compare_systems(
    *,
    means_paths: Sequence[str],
    per_query_paths: Sequence[str],
    rows: Mapping[str, Sequence[str]],
    averages: Mapping[str, Sequence[str]],
    comparison_path: str,
    uncertainty_path: str,
    main_measure: str = MAIN_MEASURE,
) -> None:
    """Write ``significance.csv``, every two systems, and ``uncertainty.csv``, every system.

    ``rows`` has the corpora of every dataset, ``averages`` the datasets of every mean over some.

    Raise DataError if values are not those that were recorded, or two systems were evaluated on other queries.
    """
    by_measure, most = _read(means_paths, per_query_paths, main_measure)
    table = comparison_table(by_measure, rows, averages, most)
    write_csv(table, comparison_path)
    write_csv(uncertainty_table(by_measure, rows, averages, table), uncertainty_path)
    for name, pairs in table[table["dataset"].isin([*rows])].groupby("dataset", sort=False):
        queries = int(pairs["queries"].iloc[0])
        others = len({*pairs["system_a"], *pairs["system_b"]}) - 1
        # The least p of so few signs, times the number of comparisons with a baseline.
        if 2.0 ** (1 - queries) * others >= LEVEL:
            log.warning("%s: with %d queries, no difference to a baseline can be significant", name, queries)


def comparison_table(
    by_measure: Mapping[str, Values],
    rows: Mapping[str, Sequence[str]],
    averages: Mapping[str, Sequence[str]],
    most: Most | None = None,
) -> pd.DataFrame:
    """Return the content of ``significance.csv`` from the values of every compared measure.

    Runs with at most ``most`` documents a query are not tested by measures with a larger cutoff.
    """
    shares = {row: dict.fromkeys(corpora, 1 / len(corpora)) for row, corpora in rows.items()}
    means = {
        label: {corpus: share / len(of) for row in of for corpus, share in shares[row].items()} for label, of in averages.items()
    }
    comparisons = [
        {"measure": measure, **row}
        for measure, values in by_measure.items()
        for names, datasets in ((shares, len(shares)), (means, None))
        for name, of in names.items()
        for row in _compare(name, of, values, datasets, {key for key, k in (most or {}).items() if k < cutoff_of(measure)})
    ]
    table = pd.DataFrame(comparisons, columns=list(COLUMNS))
    table["p_holm"] = corrected(table)
    return table


def _read(means_paths: Sequence[str], per_query_paths: Sequence[str], main_measure: str) -> tuple[dict[str, Values], Most]:
    """Return the values of every compared measure, and the runs that end early."""
    values: dict[str, Values] = {}
    most: Most = {}
    queries = dict[str, tuple[str, pa.ChunkedArray]]()
    for means_path, path in zip(means_paths, per_query_paths, strict=True):
        means, table = read_per_query(means_path, path)
        if not values:
            values = {measure: {} for measure in (main_measure, ALSO) if measure in table.column_names}
        first_path, first = queries.setdefault(means["dataset"], (path, table["query_id"]))
        if not table["query_id"].equals(first):
            problem = f"other queries than in {first_path}; only systems with the same queries can be compared"
            raise DataError(f"{path}: {problem}; evaluate both again with the same judgements: rm {path} {first_path}")
        for measure, of_measure in values.items():
            of_measure[means["system"], means["dataset"]] = table[measure].drop_null().to_numpy()
        if (k := most_documents(means)) is not None:
            most[means["system"], means["dataset"]] = k
    return values, most


def _compare(
    name: str, shares: Mapping[str, float], values: Values, datasets: int | None, untested: Collection[tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    """Yield a row for every two systems on one of ``datasets`` datasets, or, with None, in a mean over datasets.

    ``shares`` are those of its corpora in the mean. Of systems on ``untested`` corpora there are only means and difference.
    """
    systems = list(dict.fromkeys(system for system, _ in values))
    pairs = list(combinations(systems, 2))
    differences = [[values[a, corpus] - values[b, corpus] for corpus in shares] for a, b in pairs]
    if not pairs:
        return
    parts = list(shares.values())
    weights = np.concatenate([np.full(len(of), part / len(of)) for of, part in zip(differences[0], parts, strict=True)])
    flat = np.array([np.concatenate(of) for of in differences]).T
    if datasets is None:
        p_values = np.array([paired_t_test(of, parts) for of in differences])
    else:
        p_values = randomisation_test(weights[:, None] * flat, max(DRAWN, SIGNS_PER_TEST * len(pairs) * datasets))
    means = {system: sum(part * float(values[system, corpus].mean()) for corpus, part in shares.items()) for system in systems}
    for number, (a, b) in enumerate(pairs):
        tested = not any((system, corpus) in untested for system in (a, b) for corpus in shares)
        detectable = detectable_difference(differences[number], weights=parts) if tested else np.nan
        # Differences without spread do not estimate that of other queries.
        low, high = (np.nan, np.nan) if np.isnan(detectable) else confidence_interval(differences[number], weights=parts)
        yield {
            "dataset": name,
            "system_a": a,
            "system_b": b,
            "queries": len(weights),
            "mean_a": means[a],
            "mean_b": means[b],
            "difference": means[a] - means[b],
            "low": low,
            "high": high,
            "p": p_values[number] if tested else np.nan,
            "effect_size": effect_size(flat[:, number], weights) if tested else np.nan,
            "detectable": detectable,
        }
