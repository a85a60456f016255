"""The demo's collection through the whole workflow, with real weights: the table that the README shows."""

import pandas as pd
import pytest
from workflow_runs import REPOSITORY, Workflow

README_TABLE = {"kitchen": 0.8020, "debate": 0.8875, "forums": 0.9343, "mean of 3 (kitchen, debate, forums)": 0.8746}


def test_the_demo_gives_the_table_of_the_readme(finished_demo: tuple[Workflow, str]) -> None:
    workflow, output = finished_demo
    summary = pd.read_csv(workflow.result("demo/summary.csv")).set_index("dataset")
    assert summary["NDCG@10"].to_dict() == pytest.approx(README_TABLE, abs=0.00006)
    assert summary["documents"].to_dict() == {
        "kitchen": 60,
        "debate": 40,
        "forums": 60,
        "mean of 3 (kitchen, debate, forums)": 160,
    }
    assert "judged but not in the corpus: 1" in output
    readme = (REPOSITORY / "README.md").read_text()
    for name, value in README_TABLE.items():
        assert [line for line in readme.splitlines() if line.strip().startswith(name) and f"{value:.4f}" in line]
