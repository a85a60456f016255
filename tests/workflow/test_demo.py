"""The demo's collection through the whole workflow, with real weights: the tables of its README."""

import re
import subprocess
import sys
import time
from typing import Any

import pandas as pd
import pytest
import yaml

from workflow_runs import REPOSITORY

README = REPOSITORY / "tests/data/demo/README.md"

TABLE = {"kitchen": 0.8020, "debate": 0.8875, "forums": 0.9343, "mean of 3 (kitchen, debate, forums)": 0.8746}


@pytest.fixture(scope="module")
def results() -> str:
    """The folder of the demo's results, as `make demo` leaves it, which may still run; what it made before is not made again."""
    arguments = "--cores 2 --configfile tests/data/demo.yaml -- results/demo/summary.csv"
    command = [sys.executable, "-m", "snakemake", *arguments.split()]
    while True:
        done = subprocess.run(command, cwd=REPOSITORY, text=True, check=False, capture_output=True)
        if done.returncode == 0:
            return "results/demo"
        assert re.search("writes these results|no other Snakemake process", done.stderr), done.stderr
        while any((REPOSITORY / ".snakemake/locks").glob("*")):  # to ask Snakemake would take a core for seconds, every time
            time.sleep(1)


def test_the_demo_gives_the_table_of_the_readme(results: str) -> None:
    summary = pd.read_csv(REPOSITORY / results / "summary.csv").set_index("dataset")
    assert summary["NDCG@10"].to_dict() == pytest.approx(TABLE, abs=0.00006)
    assert summary["documents"].to_dict() == {
        "kitchen": 60,
        "debate": 40,
        "forums": 60,
        "mean of 3 (kitchen, debate, forums)": 160,
    }
    logs = [path.read_text() for path in (REPOSITORY / results / "logs").rglob("*.log")]
    assert any(re.search(r"1 of \d+ judged documents are not in the corpus", log) for log in logs)
    readme = README.read_text()
    for name, value in TABLE.items():
        label = name.partition(" (")[0]
        assert [line for line in readme.splitlines() if line.strip().startswith(label) and f"{value:.4f}" in line]


def demo_of_families() -> dict[str, Any]:
    """The configuration of the demo of families: one file over the other, as Snakemake lays them."""
    demo, families = (yaml.safe_load((REPOSITORY / f"tests/data/{name}.yaml").read_text()) for name in ("demo", "demo-families"))
    config: dict[str, Any] = {**demo, **families, "custom": {**demo["custom"], **families["custom"]}}
    del config["results"]
    return config


def readme_of_families() -> dict[str, list[str]]:
    """By system, its NDCG@10 on each dataset and their mean, as the README prints them."""
    lines = README.read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    start = next(number for number, row in enumerate(rows) if row[:3] == ["system", "family", "kitchen"])
    names = demo_of_families()["systems"]
    return {row[0]: row[2:6] for row in rows[start + 1 : start + 1 + len(names)]}


@pytest.mark.long
def test_the_demo_of_families_gives_the_table_of_the_readme() -> None:
    files = "--configfile tests/data/demo.yaml tests/data/demo-families.yaml"
    command = f"--cores 2 {files} -- results/demo-families/summary.csv"
    subprocess.run([sys.executable, "-m", "snakemake", *command.split()], cwd=REPOSITORY, check=True, capture_output=True)
    summary = pd.read_csv(REPOSITORY / "results/demo-families/summary.csv")
    found = {name: [f"{value:.4f}" for value in rows["NDCG@10"]] for name, rows in summary.groupby("system", sort=False)}
    assert found == readme_of_families()
