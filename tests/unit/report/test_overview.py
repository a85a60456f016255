"""The targets that a run without one tells, the nearest to an unknown one, and the table of a run with nothing to do."""

from pathlib import Path
from typing import Any

import pytest

from beirflow.config.load import load_experiment
from beirflow.evaluation.summary import summarize
from beirflow.evaluation.terminal import for_terminal
from beirflow.report.overview import closest_target, existing_summary, next_step, overview
from results_writer import write_metrics


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"systems": ["bm25"], "datasets": ["scifact"]}, "1 system (bm25) and 1 dataset (scifact)"),
        ({"systems": ["bm25", "contriever"], "datasets": "all"}, "2 systems (bm25, contriever) and 15 datasets (msmarco, "),
    ],
)
def test_the_configuration_and_the_targets_are_told_in_ten_lines(config: dict[str, Any], says: str) -> None:
    text = overview(experiment=load_experiment(config), results=Path("results"), configured=" --configfile my.yaml")
    lines = text.splitlines()
    assert says in lines[0]
    assert (" and 10 others)" in lines[0]) == (config["datasets"] == "all")
    assert len(lines) == 10
    assert lines[1] == "  snakemake --cores all --configfile my.yaml -- summary"
    names = [line.split()[0] for line in lines[2:-1]]
    assert names[:4] == ["try", "estimate", "summary", "report"]
    assert all(len(line) <= 100 for line in lines[2:])


RULES = ["all", "audit", "estimate", "clean_representations", "compare"]


def test_the_nearest_target_is_named_and_none_where_nothing_is_near() -> None:
    for target, near in (
        ("results/metrics/contreiver/scifact.json", "results/metrics/contriever/scifact.json"),
        ("results/metrics/contriever/sciafct.json", "results/metrics/contriever/scifact.json"),
        ("results/runs/bm26/scifcat.trec.gz", "results/runs/bm25/scifact.trec.gz"),
        ("results/corpora/cqadupstack-androd/corpus.json", "results/corpora/cqadupstack-android/corpus.json"),
        ("results/sumary.csv", "results/summary.csv"),
        ("summary.csv", "results/summary.csv"),
        ("report.html", "results/report.html"),
        ("out/mine/runs/bm25/scifact.trec.gz", "results/runs/bm25/scifact.trec.gz"),
        ("results/tables/leaderbord.tex", "results/tables/leaderboard.tex"),
        ("results/figures/pareto.png", "results/figures/pareto.svg"),
        ("results/metrcs/bm25/scifact.json", "results/metrics/bm25/scifact.json"),
        ("results/run/bm25/scifcat.parquet", "results/runs/bm25/scifact.parquet"),
        ("results/metrics/bm25/scifact.json.gz", "results/metrics/bm25/scifact.json"),
        ("esitmate", "estimate"),
        ("clean_representation", "clean_representations"),
    ):
        assert closest_target(target, "results", load_experiment({"systems": "bm25"}), RULES) == f"; did you mean {near!r}?"
    for target in ("results/metrics/contriever/scifact.json", "results/what/ever-and-a-day.parquet.old", "zzzzzzzz"):
        assert closest_target(target, "results", load_experiment({}), RULES) == ""
    for option in ("--config", "of=contriever/scifact"):
        assert "write options before it" in closest_target(option, "results", load_experiment({}), RULES)


def test_the_table_is_the_one_that_was_printed_and_there_is_none_for_other_targets_or_without_a_summary(tmp_path: Path) -> None:
    paths = [write_metrics(tmp_path, "x", name, {"NDCG@10": [0.1, 0.25]}, official_data=None)[0] for name in ("a", "b")]
    path = tmp_path / "summary.csv"
    printed = for_terminal(summarize(means_paths=paths, summary_path=str(path)))
    for targets in (["summary"], ["results/summary.csv"], ["report", "results/summary.csv"]):
        assert existing_summary(path, targets) == f"\n\n{printed}\n\nThe same in full precision: {path}"
    assert existing_summary(path, ["results/runs/x/a.parquet"]) == ""
    assert existing_summary(tmp_path / "none.csv", ["summary"]) == ""
    path.write_text("")
    assert existing_summary(path, ["summary"]) == ""


def test_the_end_names_the_report_and_what_to_do_next(tmp_path: Path) -> None:
    report, summary = str(tmp_path / "report.html"), str(tmp_path / "summary.csv")
    for target in ("report", report):
        assert next_step([summary, target], tmp_path, "").startswith(f"Report: {report}\n")
    for target in ("summary", summary):
        assert next_step([target], tmp_path, " --configfile my.yaml").endswith(" --configfile my.yaml -- report")
    assert (
        next_step([], tmp_path, "") == next_step(["estimate"], tmp_path, "") == next_step(["summary"], tmp_path / "try", "") == ""
    )
