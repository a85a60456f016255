"""The demo's collection through the whole workflow, with real weights: the table that the README shows."""

import subprocess
import sys

import pandas as pd
import pytest
from workflow_runs import REPOSITORY

README_TABLE = {"kitchen": 0.8020, "debate": 0.8875, "forums": 0.9343, "mean of 3 (kitchen, debate, forums)": 0.8746}


@pytest.fixture(scope="module")
def results() -> str:
    """The folder of the demo's results, as `make demo` leaves it; what it made before is not made again."""
    command = "--cores 2 --configfile tests/data/demo.yaml -- results/demo/summary.csv"
    subprocess.run([sys.executable, "-m", "snakemake", *command.split()], cwd=REPOSITORY, check=True, capture_output=True)
    return "results/demo"


def test_the_demo_gives_the_table_of_the_readme(results: str) -> None:
    summary = pd.read_csv(REPOSITORY / results / "summary.csv").set_index("dataset")
    assert summary["NDCG@10"].to_dict() == pytest.approx(README_TABLE, abs=0.00006)
    assert summary["documents"].to_dict() == {
        "kitchen": 60,
        "debate": 40,
        "forums": 60,
        "mean of 3 (kitchen, debate, forums)": 160,
    }
    logs = [path.read_text() for path in (REPOSITORY / results / "logs").rglob("*.log")]
    assert any("judged but not in the corpus: 1" in log for log in logs)
    readme = (REPOSITORY / "README.md").read_text()
    for name, value in README_TABLE.items():
        assert [line for line in readme.splitlines() if line.strip().startswith(name) and f"{value:.4f}" in line]
