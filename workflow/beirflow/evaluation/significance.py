"""Significance of differences: paired tests on the values of every query, for every two systems on every dataset.

``significance.csv`` has a row a dataset and pair of systems: ``dataset``, ``measure``, ``system_a``, ``system_b``, ``queries``,
``mean_a``, ``mean_b``, ``difference`` (``mean_a - mean_b``), ``low`` and ``high`` of its 95 % confidence interval, ``p``,
``p_holm`` and ``effect_size``. A value that is not defined is empty; with one system there is a header and nothing else.

- The mean of a dataset of forums is the plain mean of its forums, so a query counts 1 / (forums × queries of its forum).
- ``p``: two-sided paired randomisation test (Fisher; Smucker, Allan and Carterette 2007, doi:10.1145/1321440.1321528): if the
  systems did not differ, the sign of every difference could as well be the other one. How often is the absolute mean difference
  under random signs at least the one that was seen? All signs are tried where at most 16 differences are not 0; otherwise
  100,000 are drawn with a fixed seed, and ``p`` is (as large + 1) / (drawn + 1) (Phipson and Smyth 2010,
  doi:10.2202/1544-6115.1585).
- ``p_holm``: ``p`` corrected by Holm's method (1979) for all tests of the file, every pair on every dataset.
- The interval is that of the paired t-test; over forums with the degrees of freedom of Welch and Satterthwaite.
- ``effect_size``: Cohen's d_z, the mean of the differences over their standard deviation (Lakens 2013,
  doi:10.3389/fpsyg.2013.00863, formula 6), both weighted as above.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from beirflow.evaluation.paired_tests import confidence_interval, effect_size, holm, randomisation_test
from beirflow.evaluation.scores import main_cutoff, read_per_query
from beirflow.files.csv_files import write_csv
from beirflow.files.errors import DataError

COLUMNS = (
    *("dataset", "measure", "system_a", "system_b", "queries", "mean_a", "mean_b"),
    *("difference", "low", "high", "p", "p_holm", "effect_size"),
)
Values = dict[tuple[str, str], np.ndarray]
"""By system and corpus, the value of every query, float64 in byte order of the ids."""


def compare_systems(
    *, means_paths: Sequence[str], per_query_paths: Sequence[str], rows: Mapping[str, Sequence[str]], comparison_path: str
) -> None:
    """Compare every two systems on every dataset.

    Args:
        means_paths: The ``metrics`` JSON of every system on every corpus.
        per_query_paths: The values of every query, in the same order.
        rows: By dataset the names of its corpora.
        comparison_path: CSV to write, as this module says.

    Raises:
        DataError: Values are not those that were recorded, or two systems were evaluated on other queries.
    """
    measure, values = _read(means_paths, per_query_paths)
    systems = list(dict.fromkeys(system for system, _ in values))
    found = [row for dataset, corpora in rows.items() for row in _compare(dataset, corpora, systems, values)]
    table = pd.DataFrame([{"measure": measure, **row} for row in found], columns=list(COLUMNS))
    table["p_holm"] = holm(table["p"].to_numpy(dtype=np.float64))
    write_csv(table, comparison_path)


def _read(means_paths: Sequence[str], per_query_paths: Sequence[str]) -> tuple[str, Values]:
    """The measure that is compared, and its values."""
    values: Values = {}
    measure, queries = "", dict[str, tuple[str, pa.ChunkedArray]]()
    for means_path, path in zip(means_paths, per_query_paths, strict=True):
        means, table = read_per_query(means_path, path)
        measure = measure or f"NDCG@{main_cutoff(table.column_names)}"
        first_path, first = queries.setdefault(means["dataset"], (path, table["query_id"]))
        if not table["query_id"].equals(first):
            problem = f"other queries than in {first_path}; only systems with the same queries can be compared"
            raise DataError(f"{path}: {problem}; evaluate both again with the same judgements: rm {path} {first_path}")
        values[means["system"], means["dataset"]] = table[measure].to_numpy()
    return measure, values


def _compare(dataset: str, corpora: Sequence[str], systems: Sequence[str], values: Values) -> Iterator[dict[str, Any]]:
    """A row for every two systems on one dataset."""
    pairs = list(combinations(systems, 2))
    differences = [[values[a, corpus] - values[b, corpus] for corpus in corpora] for a, b in pairs]
    if not pairs:
        return
    weights = np.concatenate([np.full(len(part), 1 / (len(corpora) * len(part))) for part in differences[0]])
    flat = np.array([np.concatenate(parts) for parts in differences]).T
    p_values = randomisation_test(weights[:, None] * flat)
    means = {system: float(np.mean([values[system, corpus].mean() for corpus in corpora])) for system in systems}
    for number, (a, b) in enumerate(pairs):
        low, high = confidence_interval(differences[number])
        yield {
            "dataset": dataset,
            "system_a": a,
            "system_b": b,
            "queries": len(weights),
            "mean_a": means[a],
            "mean_b": means[b],
            "difference": means[a] - means[b],
            "low": low,
            "high": high,
            "p": p_values[number],
            "effect_size": effect_size(flat[:, number], weights),
        }
