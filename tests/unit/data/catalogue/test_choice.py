"""Datasets are chosen by name, by what they have in common, by split and as samples, and are called what they are."""

from pathlib import Path
from typing import Any

import pytest

from beir_names import FIFTEEN, FORUMS
from beir_writer import write_beir
from beirflow.config.experiment import Experiment
from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError
from workflow_rules import encoding_of


def chosen(datasets: Any, **config: Any) -> list[str]:
    return list(load_experiment({"datasets": datasets, **config}).chosen_rows)


def refused(datasets: Any, **config: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load_experiment({"datasets": datasets, **config})
    return str(caught.value)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"task": "Fact Checking"}, ["fever", "climate-fever", "scifact"]),
        ({"task": ["fact checking", "Citation Prediction"], "domain": "scientific"}, ["scifact", "scidocs"]),
        ({"largest": 10_000}, ["nfcorpus", "arguana", "scifact"]),
        ({"language": "English"}, [*FIFTEEN]),
        (["nfcorpus.dev", "all", "scifact"], ["nfcorpus.dev", *FIFTEEN]),
        ({"split": "dev", "largest": 60_000}, ["nfcorpus.dev", "fiqa.dev"]),
        ({"split": "test", "domain": "StackExchange"}, ["cqadupstack"]),
        ({"collection": "miracl", "language": "swahili"}, ["miracl.sw"]),
        ({"licence": "commercial", "task": "Fact Checking"}, ["fever"]),
    ],
    ids=str,
)
def test_datasets_are_chosen_by_what_they_have_in_common(wanted: dict[str, Any], expected: list[str]) -> None:
    assert sorted(chosen(wanted)) == sorted(expected)


@pytest.mark.parametrize(
    ("datasets", "parts"),
    [
        ({"task": "Fact Cheking"}, ["datasets.task: found 'Fact Cheking'", "Citation Prediction", "mean 'Fact Checking'?"]),
        ({"split": "tset"}, ["datasets.split: found 'tset'", "dev", "did you mean 'test'?"]),
        (
            {"tsk": "x"},
            ["datasets.tsk: found 'tsk'", "allowed are collection, licence, task, domain, language, split, largest", "'task'?"],
        ),
        (
            {"task": "Fact Checking", "largest": 10},
            ["no dataset has all these", "task: fever, climate-fever, scifact; largest: none"],
        ),
        ({}, ["datasets: found {}"]),
        (["scifact.dev"], ["datasets: found 'scifact.dev'", "is evaluated on test", "scifact.train"]),
        (["nq.dev"], ["nq is evaluated on test; it has no other splits"]),
        ("bright.biolgy", ["allowed are bright.biology, ", "did you mean 'bright.biology'?"]),
        ("longembed.passkey.test_256", ["is evaluated on test_256; it has no other splits"]),
        ({"collection": "brite"}, ["datasets.collection: found 'brite'", "did you mean 'bright'?"]),
        ({"collection": "miracl", "language": "Dutch"}, ["datasets.language: found 'Dutch'", "Swahili"]),
    ],
    ids=str,
)
def test_what_does_not_exist_is_named_with_what_does(datasets: Any, parts: list[str]) -> None:
    said = refused(datasets)
    for part in parts:
        assert part in said
    if "no dataset has all these properties" in said:  # a problem beside others
        both = refused(datasets, device="gpu")
        assert "device: found 'gpu'" in both
        assert "no dataset has all these properties" in both


@pytest.mark.parametrize(
    ("name", "whole", "changes", "documents"),
    [
        ("nfcorpus.dev", "nfcorpus", {"split": "dev", "queries": 324}, 3_633),
        ("scifact.sample-50", "scifact", {"sample_queries": 50, "sample_seed": 0}, 5_183),
        ("dbpedia-entity.documents-1000000", "dbpedia-entity", {"sample_documents": 1_000_000, "documents_seed": 0}, 1_000_000),
        ("nfcorpus.dev.documents-100-seed-7", "nfcorpus", {"split": "dev", "sample_documents": 100, "documents_seed": 7}, 100),
        ("scifact.self-matches-kept", "scifact", {"drop_self_matches": False}, 5_183),
        ("bright.pony.self-matches-dropped", "bright.pony", {"drop_self_matches": True}, 7_894),
        (
            "nfcorpus.dev.self-matches-kept.documents-100.sample-5-seed-2",
            "nfcorpus",
            {"split": "dev", "drop_self_matches": False, "sample_documents": 100, "sample_queries": 5, "sample_seed": 2},
            100,
        ),
    ],
)
def test_a_part_is_a_dataset_of_its_own_name_that_no_published_score_is_compared_with(
    name: str, whole: str, changes: dict[str, Any], documents: int
) -> None:
    experiment = load_experiment({"systems": "bm25", "datasets": [name, whole]})
    part, usual = experiment.datasets[name], experiment.datasets[whole]
    assert {key: getattr(part, key) for key in changes} == changes
    assert all(getattr(usual, key) != value for key, value in changes.items())
    assert (part.part_of, part.whole_row, experiment.corpus_settings(name)["part_of"]) == (whole, whole, whole)
    assert experiment.documents(name) == documents
    assert usual.archive is None or experiment.source_files(name) == experiment.source_files(whole)
    assert experiment.retrieval(name)["drop_self_matches"] is part.drop_self_matches
    assert experiment.catalogue.reference("bm25", name, "NDCG@10") is None
    settings = experiment.corpus_settings(name)
    assert (settings["sample"] is None, settings["document_sample"] is None) == (
        part.sample_queries is None,
        part.sample_documents is None,
    )


def test_samples_have_forums_and_share_texts_as_the_whole_does_and_other_names_are_refused() -> None:
    experiment = load_experiment({"datasets": "cqadupstack", "sample_queries": 50})
    assert experiment.chosen_rows == {"cqadupstack.sample-50": [f"cqadupstack.sample-50-{forum}" for forum in FORUMS]}
    assert chosen(["scifact.self-matches-kept"], sample_queries=5) == ["scifact.self-matches-kept.sample-5"]
    assert load_experiment({"datasets": "climate-fever", "sample_queries": 5}).shared_with("climate-fever.sample-5") is None
    both = load_experiment({"datasets": ["fever", "climate-fever"], "sample_queries": 5})
    assert both.shared_with("climate-fever.sample-5") == "fever.sample-5"
    assert "found 'scifact.sample-5.documents-9'" in refused(["scifact.sample-5.documents-9"])
    usual = "in scifact, self matches are dropped anyway; allowed are scifact and scifact.self-matches-kept"
    assert usual in refused(["scifact.self-matches-dropped"])


def test_who_states_the_treatment_of_self_matches_is_known(tmp_path: Path) -> None:
    folder = str(write_beir(tmp_path / "mine", {"d": "text"}, {"q": "text"}, {"q": {"d": 1}}))
    own = {"mine": {"path": folder}, "stated": {"path": folder, "drop_self_matches": True}}
    names = ["mine", "mine.sample-1", "mine.self-matches-kept", "stated", "scifact", "scifact.self-matches-kept"]
    experiment = load_experiment({"systems": "bm25", "datasets": names, "custom": {"datasets": own}})
    found = {name: (each["stated_by"], each["drop"]) for name in names for each in [experiment.self_matches(name)]}
    assert found == {
        "mine": (None, True),
        "mine.sample-1": (None, True),
        "mine.self-matches-kept": ("configuration", False),
        "stated": ("configuration", True),
        "scifact": ("catalogue", True),
        "scifact.self-matches-kept": ("configuration", False),
    }
    assert experiment.self_matches("mine.sample-1")["dataset"] == "mine"
    by_place = load_experiment({"systems": "bm25", "datasets": "mine", "data_dir": str(tmp_path)})
    assert by_place.self_matches("mine")["stated_by"] is None


def test_seed_and_split_are_in_the_name_of_a_sample() -> None:
    assert chosen(["nfcorpus.dev"], sample_queries=5, sample_seed=7) == ["nfcorpus.dev.sample-5-seed-7"]
    assert chosen(["fiqa"], sample_queries=5, sample_seed=[0, 7]) == ["fiqa.sample-5", "fiqa.sample-5-seed-7"]
    assert chosen(["fiqa"], sample_queries=5, sample_seed="0,7") == ["fiqa.sample-5", "fiqa.sample-5-seed-7"]
    assert chosen({"split": "dev", "largest": 5_000}, sample_queries=5) == ["nfcorpus.dev.sample-5"]
    assert len(chosen("all", sample_queries=5)) == len(FIFTEEN)


def own(tmp_path: Path, *names: str, **config: Any) -> Experiment:
    """Datasets of the user's own, one document each, judged on dev and test."""
    entries = {}
    for name in names:
        folder = write_beir(tmp_path / name, {"d": "text"}, {"q": "text"}, {"q": {"d": 1}})
        (folder / "qrels/dev.tsv").write_text((folder / "qrels/test.tsv").read_text())
        entries[name] = {"path": str(folder)}
    return load_experiment({"systems": "bm25", "custom": {"datasets": entries}, **config})


def test_datasets_of_ones_own_have_splits_and_samples_too(tmp_path: Path) -> None:
    experiment = own(tmp_path, "mine", datasets=["mine.dev", "mine.sample-1"])
    assert experiment.source_files("mine.dev")[2].endswith("mine/qrels/dev.tsv")
    assert experiment.folder("mine.sample-1") == str(tmp_path / "mine")
    with pytest.raises(ConfigError, match=r"has no qrels/eval\.tsv"):
        own(tmp_path, "mine", datasets="mine.eval")


def test_no_dataset_of_ones_own_can_be_taken_for_a_part_of_another_but_its_name_may_have_a_dot(tmp_path: Path) -> None:
    for name in ("mine.sample-3", "nfcorpus.dev", "scifact.self-matches-kept", "mine.self-matches-dropped"):
        with pytest.raises(ConfigError, match="the name of a split or a sample of another dataset"):
            own(tmp_path, "mine", name, datasets="mine")
    assert own(tmp_path, "a", "a.b", datasets=["a.b"]).datasets["a.b"].part_of is None


def test_instructions_and_runs_of_elsewhere_are_those_of_the_whole_dataset(tmp_path: Path) -> None:
    (tmp_path / "scifact.trec").write_text("")
    systems = {
        "e5": {
            "model": str(tmp_path),
            "pooling": "cls",
            "similarity": "dot",
            "query_prefix": "Instruct: {instruction} ",
            "instructions": {"scifact": "find"},
        },
        "theirs": {"run": str(tmp_path / "{dataset}.trec")},
    }
    experiment = load_experiment({"systems": "theirs", "datasets": "scifact.sample-5", "custom": {"systems": systems}})
    assert experiment.family("theirs").source(experiment.systems["theirs"].settings, "scifact") == tmp_path / "scifact.trec"
    assert encoding_of(experiment, "e5", "scifact.sample-5")["query_prefix"] == "Instruct: find "
