"""The files that the report is made of, through Snakemake."""

import json
import zipfile

import pandas as pd
import pytest
from beirflow.files.digests import file_digest
from beirflow.files.records import read_json
from workflow_runs import Workflow

TARGETS = ("results/report.html", "results/scores.parquet", "results/inspection/small.json", "results/figures/cost.svg")
NPY_HEADER = 128
"""Bytes before the numbers of each of the three chunks."""


def test_scores_inspection_and_figures_are_made_from_a_finished_run_without_encoding_again(finished: Workflow) -> None:
    own = ("collect_scores", "compare_systems", "collect_costs", "describe_systems", "inspect_dataset", "draw_figures")
    own += ("tabulate_figures", "export_tables", "write_report")
    assert finished.planned(*TARGETS) == dict.fromkeys(own, 1)
    finished.run(*TARGETS)
    means = json.loads(finished.result("metrics/tiny/small.json").read_text())["measures"]
    scores = pd.read_parquet(finished.result("scores.parquet"))
    assert scores.groupby("measure", observed=True)["value"].mean().to_dict() == pytest.approx(means, abs=1e-12)
    inspection = json.loads(finished.result("inspection/small.json").read_text())
    assert inspection["sample"]["how"] == "all queries"
    assert inspection["lengths"]["all"]["n"] == 30
    costs = pd.read_csv(finished.result("cost.csv"))
    assert costs["index_bytes"].tolist() == [30 * 32 * 4 + 3 * NPY_HEADER]
    assert (costs["peak_memory_bytes"] > 1e7).all()
    assert len(list(finished.result("figures").iterdir())) == 2 * 8 + 2
    page = finished.result("report.html").read_text(encoding="utf-8")
    assert f"{means['NDCG@10']:.4f}</td>" in page
    assert page.count('src="data:image/svg+xml') == 8
    recorded = read_json(finished.result("report.json"))["outputs"]
    assert len(recorded) == 2 * 8 + 2 + 2 * 9 + 1 + len(
        ("report.html", "scores.parquet", "significance.csv", "cost.csv", "systems.csv", "inspection/small.json")
    )
    assert all(file_digest(finished.result(name)) == digest for name, digest in recorded.items())
    assert finished.planned(*TARGETS, "results/summary.csv") == {}

    report = finished.folder / "report.zip"
    finished.run("--report", str(report), "results/summary.csv", TARGETS[-1])
    with zipfile.ZipFile(report) as archive:
        names = {name.rpartition("/")[2] for name in archive.namelist()}
    assert {"report.html", "summary.csv", "cost.svg", "ndcg_difference.svg"} <= names
