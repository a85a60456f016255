"""A target that no rule makes: the nearest one that a rule does make is named."""

import pytest
from beirflow.experiment.load import load_experiment
from beirflow.experiment.targets import meant

RULES = ["all", "audit", "estimate", "clean_representations", "compare"]


@pytest.mark.parametrize(
    ("target", "near"),
    [
        ("results/metrics/contreiver/scifact.json", "results/metrics/contriever/scifact.json"),
        ("results/metrics/contriever/sciafct.json", "results/metrics/contriever/scifact.json"),
        ("results/runs/bm26/scifcat.trec.gz", "results/runs/bm25/scifact.trec.gz"),
        ("results/corpora/cqadupstack-androd/corpus.json", "results/corpora/cqadupstack-android/corpus.json"),
        ("results/sumary.csv", "results/summary.csv"),
        ("results/raport.html", "results/report.html"),
        ("summary.csv", "results/summary.csv"),
        ("report.html", "results/report.html"),
        ("esitmate", "estimate"),
        ("clean_representation", "clean_representations"),
    ],
)
def test_the_nearest_target_is_named(target: str, near: str) -> None:
    assert meant(target, "results", load_experiment({"systems": "bm25"}), RULES) == f"; did you mean {near!r}?"


@pytest.mark.parametrize(
    "target", ["results/metrics/contriever/scifact.json", "results/what/ever-and-a-day.parquet.old", "zzzzzzzz"]
)
def test_nothing_is_named_where_nothing_is_near(target: str) -> None:
    assert meant(target, "results", load_experiment({}), RULES) == ""
