"""Costs of scores, and average ranks: the numbers, and their drawings."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from beirflow.core.csv_files import read_named_csv
from beirflow.evaluation.cost import on_front
from beirflow.evaluation.ranks import critical_difference as nemenyi
from beirflow.report import figure_tables
from beirflow.report.figure_ranks import critical_difference
from beirflow.report.figure_style import house_style
from beirflow.report.figures import pareto
from beirflow.report.results import Results
from report_files import results_of

ORDERED = {"worst": [0.1] * 6, "best": [0.3] * 6, "middle": [0.2] * 6}
DATASETS = ("a", "b", "c", "d", "e", "f")


def means(scores: dict[str, list[float]]) -> dict[tuple[str, str], dict[str, float]]:
    return {
        (system, dataset): {"NDCG@10": value, "NDCG@1": 0.0}
        for system, values in scores.items()
        for dataset, value in zip(DATASETS, values, strict=False)
    }


def costs(**of: list[dict[str, Any]]) -> pd.DataFrame:
    """By system, what differs on every dataset from a search of ten queries in a second."""
    stages = ("queries", "search", "merge", "fuse", "rerank")
    usual = {**{f"{stage}_seconds": np.nan for stage in stages}, "search_seconds": 1.0, "index_seconds": 100.0}
    usual |= {"queries": 10, "index_bytes": 1000.0, "devices": "cpu"}
    return pd.DataFrame(
        [{"system": s, "dataset": d, **usual, **each} for s, rows in of.items() for d, each in zip(DATASETS, rows, strict=False)]
    )


def results(scores: dict[str, list[float]], table: pd.DataFrame | None = None) -> Results:
    datasets = list(DATASETS[: len(next(iter(scores.values())))])
    table = costs(**{system: [{}] * len(datasets) for system in scores}) if table is None else table
    known = {"rows": {name: [name] for name in datasets}, "blocks": [[name] for name in datasets], "main_measure": "NDCG@10"}
    return results_of(measures=means(scores), costs=table, system_names=list(scores), **known)


def test_who_is_beaten_is_not_on_the_front_and_seconds_are_those_of_queries() -> None:
    scores, prices = np.array([0.5, 0.4, 0.6, 0.5, 0.9]), np.array([1.0, 2.0, 3.0, 1.0, np.nan])
    assert on_front(scores, prices) == [True, False, True, True, False]
    assert on_front(np.array([0.5, 0.5]), np.array([2.0, 1.0])) == [False, True]
    table = costs(
        x=[{"queries_seconds": 2.0, "rerank_seconds": 1.0}, {"queries": 30, "devices": "NVIDIA H100, cpu"}],
        imported=[{"search_seconds": np.nan, "index_bytes": np.nan}, {}],
    )
    found = figure_tables.pareto(results({"x": [0.2, 0.4], "imported": [0.5, 0.5]}, table)).set_index("system")
    assert found["NDCG@10"].tolist() == pytest.approx([0.3, 0.5])
    assert found["seconds_per_query"]["x"] == (2 + 1 + 1 + 1) / 40
    assert found["index_bytes"]["x"] == 2000
    assert np.isnan(found.loc["imported", ["seconds_per_query", "index_bytes"]].astype(float)).all()
    assert found[["front_of_seconds", "front_of_bytes"]].to_numpy().tolist() == [[True, True], [False, False]]
    assert found["devices"].tolist() == ["NVIDIA H100, cpu", "cpu"]


def test_the_front_is_drawn_along_those_that_no_other_beats() -> None:
    table = costs(x=[{}], y=[{"search_seconds": 60.0}], z=[{"search_seconds": 70.0, "index_bytes": np.nan}])
    with house_style():
        seconds, size = pareto(results({"x": [0.3], "y": [0.5], "z": [0.4]}, table)).axes
    front, *systems = seconds.lines
    assert list(zip(front.get_xdata(), front.get_ydata(), strict=True)) == [(100.0, 0.3), (6000.0, 0.5)]
    assert [line.get_xdata()[0] for line in systems] == [100.0, 6000.0, 7000.0]
    assert seconds.get_xscale() == "log"
    assert size.get_xlabel() == "index size on disk, kB\n(1 unknown)"
    assert len(size.lines) == 3


def test_ranks_come_with_groups_and_tests(tmp_path: Path) -> None:
    table = figure_tables.critical_difference(results(ORDERED))
    assert table["system"].tolist() == ["best", "middle", "worst"]
    assert table["average_rank"].tolist() == [1, 2, 3]
    assert table["f"].tolist() == [np.inf] * 3
    assert table["p"].tolist() == pytest.approx([6.0**-5] * 3)
    assert table["critical_difference"].tolist() == pytest.approx([nemenyi(3, 6)] * 3)
    assert table["groups"].tolist() == ["a", "a b", "b"]
    # Too few have ranks and no tests.
    table = figure_tables.critical_difference(results({"NA": [0.1, 0.2], "y": [0.3, 0.1]}))
    table.to_csv(tmp_path / "table.csv", index=False)
    read = read_named_csv(str(tmp_path / "table.csv"))
    assert read["system"].tolist() == ["NA", "y"]
    assert read["average_rank"].tolist() == [1.5, 1.5]
    assert read[["groups", "f", "p", "critical_difference"]].isna().all(axis=None)


def bars(figure: Figure) -> list[list[float]]:
    return [list(line.get_xdata()) for line in figure.axes[0].lines if line.get_linewidth() > 2]


def test_bars_join_what_is_not_told_apart() -> None:
    with house_style():
        figure = critical_difference(results(ORDERED))
        none = critical_difference(results({"x": [0.1, 0.3] * 3, "y": [0.2, 0.2] * 3, "z": [0.3, 0.1] * 3}))
        equal = critical_difference(results({name: [0.5] * 5 for name in "xyz"}))
    assert bars(figure) == [[1, 2], [2, 3]]
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert {"best 1.00", "middle 2.00", "3.00 worst", f"critical difference {nemenyi(3, 6):.2f}"} <= texts
    assert "F is infinite, p < 0.001" in " ".join(figure.get_supxlabel().split())
    assert bars(none) == [[2, 2]]
    assert " ".join(none.get_supxlabel().split()).endswith("no two systems differ significantly.")
    assert [text.get_text() for text in equal.texts] == ["All systems are equal on every dataset: there are no ranks to test."]
