"""Near-duplicates beside scores: the files that the report asks for, and its table."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError
from beirflow.core.extensions import shown_files
from beirflow.extensions.near_duplicates.shown import near_duplicates
from beirflow.report.exports import as_markdown
from beirflow.report.results import Results

DATASETS = ["scifact", "cqadupstack"]


def files(near: Any) -> list[str]:
    return shown_files(load_experiment({"systems": "bm25", "datasets": DATASETS, "near_duplicates": near}))


def test_the_report_reads_the_near_duplicates_that_are_configured() -> None:
    near = {"scifact": ["nfcorpus", "msmarco"], "cqadupstack-gis": "scifact"}
    pairs = ["scifact/nfcorpus", "scifact/msmarco", "cqadupstack-gis/scifact"]
    assert files(near) == [f"<results>/near-duplicates/{pair}.csv" for pair in pairs]
    assert files({}) == []


@pytest.mark.parametrize(
    ("near", "problem"),
    [
        ({"nfcorpus": "scifact"}, r"near_duplicates\.nfcorpus: found 'nfcorpus'"),
        ({"cqadupstack": "scifact"}, r"did you mean 'cqadupstack-android'\?"),
        ({"scifact": "nfcorpos"}, r"found 'nfcorpos'; did you mean 'nfcorpus'\?"),
        ({"scifact": ["scifact"]}, r"near_duplicates\.scifact: found 'scifact'"),
    ],
)
def test_a_pair_that_nobody_can_compare_is_refused(near: Any, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        files(near)


def test_a_score_stands_beside_that_without_near_duplicates_and_a_rank_beside_its_change(tmp_path: Path) -> None:
    folder = tmp_path / "near-duplicates/scifact"
    folder.mkdir(parents=True)
    rows = [("a", 0.5, 0.2, 0.1), ("b", 0.4, 0.3, 0.3), ("gone", 0.9, 0.9, 0.9)]
    columns = ["system", "all", "without_queries", "without_either"]
    table = pd.DataFrame(rows, columns=columns).assign(queries=10, left_queries=7, left_either=4)
    table = pd.concat([table.assign(measure="NDCG@10"), table.assign(measure="Recall@100", all=0.0)])
    table.to_csv(folder / "nfcorpus.csv", index=False)
    pd.DataFrame({"kind": ["query"], "id": ["q1"]}).to_csv(folder / "nfcorpus-pairs.csv", index=False)
    results = Results.__new__(Results)
    vars(results).update(folder=tmp_path, inputs=None, system_names=["a", "b"], main_measure="NDCG@10")
    (shown,) = near_duplicates(results)
    assert [[cell.text for cell in row] for row in shown.rows] == [
        ["scifact", "nfcorpus", "a", "0.5000", "0.1000", "\u22120.4000", "1", "2", "+1", "10", "6"],
        ["scifact", "nfcorpus", "b", "0.4000", "0.3000", "\u22120.1000", "2", "1", "\u22121", "10", "6"],
    ]
    head = "| Dataset | Other corpus | System | All | Without | Difference | Rank All | Rank Without | Change of rank |"
    assert as_markdown(shown).startswith(f"{head} Queries All | Queries Removed |\n")
    vars(results).update(inputs={})
    assert list(near_duplicates(results)) == []
