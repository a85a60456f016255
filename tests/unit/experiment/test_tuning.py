"""Systems that are tuned: on which corpora, which runs that needs, and that nothing is tuned on what is evaluated."""

from pathlib import Path
from typing import Any

import pytest
from beirflow.experiment.experiment import Experiment
from beirflow.experiment.load import load_experiment
from beirflow.files.errors import ConfigError

PAIR = ["bm25", "bm25-multifield"]


def fusion(**tune: Any) -> dict[str, Any]:
    return {"family": "fusion", "of": PAIR, "method": "sum", "normalize": "min-max", "weights": {"tune": tune}}


def config(systems: dict[str, Any], *datasets: str, **more: Any) -> dict[str, Any]:
    chosen = [name for name in systems if name != "inner"]
    return {"systems": chosen, "datasets": list(datasets), "custom": {"systems": systems, **more}}


def load(systems: dict[str, Any], *datasets: str, **more: Any) -> Experiment:
    return load_experiment(config(systems, *datasets, **more))


def problems_of(systems: dict[str, Any], *datasets: str, **more: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(systems, *datasets, **more)
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


@pytest.fixture
def forums(tmp_path: Path) -> dict[str, Any]:
    """A dataset of two forums with two splits each."""
    for forum in ("android", "tex"):
        (tmp_path / forum / "qrels").mkdir(parents=True)
        for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "qrels/dev.tsv"):
            (tmp_path / forum / name).write_text("{}\n")
    return {"mine": {"path": str(tmp_path), "forums": ["android", "tex"]}}


def test_a_split_is_that_of_each_dataset_and_needs_the_runs_of_the_first_stages_alone() -> None:
    experiment = load({"fused": fusion(split="dev")}, "nfcorpus", "fiqa.sample-50")
    assert experiment.tuned_on("fused", "nfcorpus") == "nfcorpus.dev"
    assert experiment.tuned_on("fused", "fiqa.sample-50") == "fiqa.dev"
    assert experiment.tuned_on("bm25", "nfcorpus") is None
    on_all = {(system, dataset) for system in PAIR for dataset in ("nfcorpus", "nfcorpus.dev", "fiqa.sample-50", "fiqa.dev")}
    assert set(experiment.needed_runs) == on_all | {("fused", "nfcorpus"), ("fused", "fiqa.sample-50")}
    assert experiment.chosen_datasets == ["nfcorpus", "fiqa.sample-50"]
    assert experiment.tuning_rows == {"nfcorpus.dev": ["nfcorpus.dev"], "fiqa.dev": ["fiqa.dev"]}
    assert list(experiment.needed_rows) == ["nfcorpus", "fiqa.sample-50", "nfcorpus.dev", "fiqa.dev"]
    assert experiment.datasets["nfcorpus.dev"].queries == 324
    assert experiment.tuning_files("fused", "nfcorpus") == [
        *(f"<results>/runs/{system}/nfcorpus.dev.{kind}" for kind in ("parquet", "json") for system in PAIR),
        *(f"<results>/corpora/nfcorpus.dev/{name}" for name in ("corpus.json", "queries.parquet", "qrels.parquet")),
        "<results>/corpora/nfcorpus/queries.parquet",
    ]


def test_what_is_evaluated_on_dev_is_tuned_on_test() -> None:
    experiment = load({"fused": fusion(split="test")}, "nfcorpus.dev")
    assert experiment.tuned_on("fused", "nfcorpus.dev") == "nfcorpus"


def test_a_dataset_is_that_of_all_and_may_be_a_part_or_a_forum(forums: dict[str, Any]) -> None:
    systems = {"a": fusion(dataset="nfcorpus.dev"), "b": fusion(dataset="mine-tex"), "c": fusion(dataset="fiqa", step=0.2)}
    experiment = load(systems, "scifact", "nfcorpus", datasets=forums)
    assert [experiment.tuned_on("a", name) for name in ("scifact", "nfcorpus")] == ["nfcorpus.dev"] * 2
    assert experiment.tuned_on("b", "scifact") == "mine-tex"
    assert experiment.tuning_rows == {"nfcorpus.dev": ["nfcorpus.dev"], "mine": ["mine-tex"], "fiqa": ["fiqa"]}


def test_a_forum_is_tuned_on_the_split_of_its_own(forums: dict[str, Any]) -> None:
    experiment = load({"fused": fusion(split="dev")}, "mine", datasets=forums)
    assert experiment.tuned_on("fused", "mine-tex") == "mine.dev-tex"
    assert experiment.tuning_rows == {"mine.dev": ["mine.dev-android", "mine.dev-tex"]}


def test_a_first_stage_that_is_tuned_too_is_tuned_for_each_corpus() -> None:
    systems = {"outer": {**fusion(dataset="scifact"), "of": ["inner", "bm25"]}, "inner": fusion(split="dev")}
    (problem,) = problems_of(systems, "nfcorpus")  # scifact has no dev
    assert problem.startswith("custom.systems.inner.weights.tune.split: found 'dev'; scifact has the splits test, train")
    experiment = load({**systems, "inner": fusion(split="train")}, "nfcorpus")
    assert {dataset for system, dataset in experiment.needed_runs if system == "bm25"} == {
        *("nfcorpus", "nfcorpus.train", "scifact", "scifact.train")
    }


@pytest.mark.parametrize(
    ("tune", "dataset"),
    [
        ({"split": "test"}, "nfcorpus"),
        ({"split": "dev"}, "nfcorpus.dev"),
        ({"split": "test"}, "nfcorpus.sample-20"),
        ({"dataset": "nfcorpus"}, "nfcorpus"),
        ({"dataset": "nfcorpus.sample-20"}, "nfcorpus"),
        ({"dataset": "nfcorpus"}, "nfcorpus.sample-20-seed-2"),
    ],
    ids=str,
)
def test_nothing_is_tuned_on_queries_that_are_evaluated(tune: dict[str, Any], dataset: str) -> None:
    (problem,) = problems_of({"fused": fusion(**tune)}, dataset, *(["scifact"] if "dataset" in tune else []))
    assert problem.startswith(f"custom.systems.fused.weights.tune.{next(iter(tune))}: found ")
    assert problem.endswith(
        f"fused would be tuned for {dataset} on the queries that are evaluated; name another split or dataset"
    )


@pytest.mark.parametrize(
    ("tune", "says"),
    [
        ({"dataset": "nfcorpsu"}, "did you mean 'nfcorpus'?"),
        ({"dataset": "cqadupstack"}, "one corpus is needed, and cqadupstack has several, cqadupstack-android"),
        ({"split": "dve"}, "scifact has the splits test, train; name a dataset"),
        ({"split": "dev", "dataset": "nfcorpus"}, "tune"),
        ({}, "tune"),
        ({"split": "dev", "step": 0.3}, "custom.systems.fused.weights.tune.step: found 0.3; allowed are 0.5, 0.25, 0.2, 0.1,"),
        ({"split": "train", "spilt": "dev"}, "did you mean 'split'?"),
    ],
    ids=str,
)
def test_what_cannot_be_tuned_on_is_named(tune: dict[str, Any], says: str) -> None:
    problems = problems_of({"fused": fusion(**tune)}, "scifact")
    assert any(says in problem for problem in problems), problems


def test_weights_that_are_too_many_to_be_tried_are_refused() -> None:
    many = {**fusion(split="train", step=0.01), "of": [*PAIR, "a", "b"]}
    systems = {"fused": many, "inner": {"family": "lexical"}, "a": {"family": "lexical"}, "b": {"family": "lexical", "b": 0.1}}
    (problem,) = problems_of(systems, "scifact")
    assert "custom.systems.fused.weights.tune.step: found 0.01; these are 176,851 weights of 4 systems" in problem


def test_runs_of_elsewhere_that_are_fused_are_needed_on_what_is_tuned_on(tmp_path: Path) -> None:
    (tmp_path / "scifact.trec").write_text("")
    theirs = {"run": f"{tmp_path}/{{dataset}}.trec"}
    load({"fused": {**fusion(split="train"), "of": ["bm25", "theirs"]}, "theirs": theirs}, "scifact")
    (problem,) = problems_of({"fused": {**fusion(dataset="fiqa"), "of": ["bm25", "theirs"]}, "theirs": theirs}, "scifact")
    assert f"there is no file {tmp_path}/fiqa.trec, which would be the run on 'fiqa'" in problem
