"""A run with nothing to do prints the table that is there."""

from pathlib import Path

import pytest
from beirflow.evaluation.summary import summarize
from beirflow.evaluation.table_again import table_again
from results_writer import write_metrics


@pytest.fixture
def summary(tmp_path: Path) -> tuple[Path, str]:
    """The summary of one system on two datasets, and the table that was printed."""
    paths = [write_metrics(tmp_path, "x", name, {"NDCG@10": [0.1, 0.25]}, official_data=None)[0] for name in ("a", "b")]
    return tmp_path / "summary.csv", summarize(means_paths=paths, summary_path=str(tmp_path / "summary.csv"))


@pytest.mark.parametrize("targets", [("summary",), ("results/summary.csv",), ("report", "results/summary.csv")])
def test_the_table_is_the_one_that_was_printed(summary: tuple[Path, str], targets: tuple[str, ...]) -> None:
    path, printed = summary
    assert table_again(path, targets) == f"\n\n{printed}\n\nThe same in full precision: {path}"


def test_there_is_none_where_something_else_was_asked_for_or_none_is_there(summary: tuple[Path, str], tmp_path: Path) -> None:
    assert table_again(summary[0], ["results/runs/x/a.parquet"]) == ""
    assert table_again(tmp_path / "none.csv", ["summary"]) == ""
    summary[0].write_text("")
    assert table_again(summary[0], ["summary"]) == ""
