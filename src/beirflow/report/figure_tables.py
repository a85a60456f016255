"""Numbers of the figures that no other table has, as CSV.

``docs/files.md`` describes ``pareto.csv`` and ``critical_difference.csv``.
"""

import numpy as np
import pandas as pd

from beirflow.core import layout
from beirflow.core.csv_files import write_csv
from beirflow.evaluation.cost import on_front
from beirflow.evaluation.ranks import alike, average_ranks, friedman
from beirflow.evaluation.uncertainty import letter
from beirflow.report.registry import frame, registered
from beirflow.report.results import Results

OF_QUERIES = ("queries", "search", "merge", "fuse", "rerank")  # stages of a query, once everything is indexed

FRONTS = {"seconds_per_query": "front_of_seconds", "index_bytes": "front_of_bytes"}
"""By kind of cost, the column of its Pareto front."""


def write_figure_tables(*, shared: Results) -> None:
    """Write the numbers of figures that have a CSV of their own."""
    for name, make in registered("frame").items():
        write_csv(make(shared), shared.folder / layout.FIGURE_DATA(figure=name))


@frame
def pareto(results: Results) -> pd.DataFrame:
    """Return ``pareto.csv``: the mean main measure of every system, its costs, and whether these are on a Pareto front."""
    measure, costs, systems = results.main_measure, results.costs, results.system_names
    scores = np.array([[results.measures[system, row][measure] for row in results.rows] for system in systems])
    table = pd.DataFrame({"system": systems, "datasets": scores.shape[1], measure: scores.mean(axis=1)})
    of_system = [costs[costs["system"] == system] for system in systems]
    table["seconds_per_query"] = [_query_seconds(part) / part["queries"].sum() for part in of_system]
    # The total size is unknown if that of any dataset is.
    table["index_bytes"] = [part["index_bytes"].sum(skipna=False) for part in of_system]
    for cost, column in FRONTS.items():
        table[column] = on_front(table[measure].to_numpy(), table[cost].to_numpy())
    table["devices"] = [", ".join(sorted(set(", ".join(part["devices"].dropna()).split(", ")) - {""})) for part in of_system]
    return table


def _query_seconds(costs: pd.DataFrame) -> float:
    """Return the seconds of all queries; not-a-number if the time of a search is unknown."""
    known = bool(costs["search_seconds"].notna().all())
    return float(costs[[f"{stage}_seconds" for stage in OF_QUERIES]].sum().sum()) if known else float("nan")


@frame
def critical_difference(results: Results) -> pd.DataFrame:
    """Return ``critical_difference.csv``, without groups and tests if there are too few systems or blocks."""
    measure, blocks, systems = results.main_measure, results.blocks, results.system_names
    of_systems = [
        [np.mean([results.measures[system, name][measure] for name in block]) for block in blocks] for system in systems
    ]
    scores = np.array(of_systems, np.float64)
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
