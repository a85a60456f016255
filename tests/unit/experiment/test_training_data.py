"""Training data: in-domain is a property of a system with a dataset, and a system inherits it from what it is made from."""

from pathlib import Path
from typing import Any

import pytest
from beir_writer import write_beir
from beirflow.catalogue.catalogue import load_catalogue
from beirflow.experiment.experiment import Experiment
from beirflow.experiment.families import FAMILIES
from beirflow.experiment.load import load_experiment
from beirflow.experiment.systems import catalogue_systems
from beirflow.files.errors import ConfigError
from tiny_bert import save_tiny_bert

ROWS = ["msmarco", "nq", "fever", "climate-fever", "scifact", "scifact.train"]


def test_every_system_of_the_catalogue_names_the_document_that_states_its_training_data_or_says_that_it_was_not_at_hand() -> None:
    sources = {name: system.trained_on.source for name, system in catalogue_systems().items() if system.trained_on.source}
    read = ("MTEB 2.26", "Thakur et al. 2021", "(not at hand)", "no training")
    assert [name for name, source in sources.items() if not any(known in source for known in read)] == []
    assert all(system.trained_on.source for system in catalogue_systems().values() if system.trained_on.datasets is not None)


def load(systems: dict[str, Any], *names: str, datasets: list[str] = ROWS) -> Experiment:
    return load_experiment({"systems": [*systems, *names], "datasets": datasets, "custom": {"systems": systems}})


@pytest.fixture
def model(tmp_path: Path) -> dict[str, Any]:
    return {"model": str(save_tiny_bert(tmp_path / "bert")), "pooling": "mean", "similarity": "cosine"}


def test_every_system_of_the_catalogue_that_learns_states_its_training_data_or_that_nobody_does() -> None:
    systems, known = catalogue_systems(), load_catalogue().known_datasets
    learning = {name: system for name, system in systems.items() if FAMILIES[system.family].learns(system.settings)}
    assert [name for name, system in learning.items() if not system.trained_on.source] == []
    assert {"bm25", "bm25qs", "bm25-multifield", "rrf-bm25-bge-base"} == set(systems) - set(learning) - {"min-max-bm25-bge-base"}
    assert {each for system in systems.values() for each in system.trained_on.datasets or ()} <= set(known)
    assert [name for name, system in learning.items() if system.trained_on.datasets is None] == ["embeddinggemma-300m"]
    # As the BEIR paper has it: trained on MS MARCO, but for DPR, whose cell of NQ it marks.
    for name in ("deepct-bert-base", "sparta-distilbert", "doct5query-t5-base", "ance-firstp", "tas-b", "genq-tas-b"):
        assert systems[name].trained_on.datasets == {"msmarco": "train"}
    assert systems["dpr-multiset"].trained_on.datasets == {"nq": "train"}


def test_a_system_has_the_training_data_of_all_that_it_is_made_from(model: dict[str, Any]) -> None:
    stated = {"mine": {**model, "trained_on": {"datasets": {"scifact": "train"}, "source": "our logs"}}, "other": model}
    made = {
        "bits": {"variant_of": "mine", "vectors": "binary"},
        "again": {"family": "rerank", "first": "bm25", "model": "mine"},
        "further": {"family": "rerank", "first": "all-minilm-l6-v2", "model": "mine"},
        "fused": {"family": "fusion", "of": ["bm25", "contriever-msmarco"]},
        "unknown": {"family": "fusion", "of": ["bm25", "other"]},
        "near": {"approximate": "mine", "index": "sq"},
        "tuned": {
            "family": "fusion",
            "of": ["bm25", "bm25-multifield"],
            "method": "sum",
            "weights": {"tune": {"dataset": "nfcorpus.dev"}},
        },
    }
    experiment = load(stated | made, "bm25", datasets=[*ROWS, "nfcorpus"])
    scifact = {"scifact": "train", "scifact.train": "train"}
    assert experiment.in_domain == {
        "mine": scifact,
        "other": None,
        "bits": scifact,
        "again": scifact,
        "further": scifact | {"msmarco": "train", "nq": "train"},
        "fused": {"msmarco": "train"},
        "unknown": None,
        "near": scifact,
        "tuned": {"nfcorpus": "dev (tuned)"},
        "bm25": {},
    }
    assert experiment.training_data("mine") == {"trained_on": "scifact train; our logs"}
    assert experiment.training_data("other") == {"trained_on": "not stated"}
    assert experiment.training_data("bm25") == {}
    # The manifest states them, and who audits derives the same.
    manifest = {"systems": experiment.configured["systems"], "datasets": experiment.configured["datasets"]}
    manifest |= {"configuration": experiment.configured["configuration"], "tuned_on": experiment.configured["tuned_on"]}
    assert experiment.as_stated(manifest, {}).in_domain == experiment.in_domain


@pytest.mark.parametrize(("evaluated", "split"), [("own.sample-1", "dev"), ("own.dev", "test"), ("own.dev", "train")])
def test_the_manifest_of_parts_of_an_own_dataset_says_what_was_tuned_on(evaluated: str, split: str, tmp_path: Path) -> None:
    for each in ("test", "dev", "train"):
        write_beir(tmp_path, {"d": "a text"}, {each: f"of {each}" for each in ("test", "dev", "train")}, {each: {"d": 1}}, each)
    tune = {"tune": {"split": split}}
    tuned = {"family": "fusion", "of": ["bm25", "bm25-multifield"], "method": "sum", "weights": tune}
    custom = {"systems": {"tuned": tuned}, "datasets": {"own": {"path": str(tmp_path)}}}
    experiment = load_experiment({"systems": ["tuned"], "datasets": [evaluated], "custom": custom})
    assert experiment.in_domain == {"tuned": {evaluated: f"{split} (tuned)"}}
    manifest = {key: experiment.configured[key] for key in ("systems", "datasets", "configuration", "tuned_on")}
    assert experiment.as_stated(manifest, {}).in_domain == experiment.in_domain


def test_ranks_are_over_datasets_that_are_unseen_and_independent() -> None:
    experiment = load({}, "bm25", "contriever-msmarco")
    assert experiment.blocks == [["nq"], ["fever", "climate-fever"], ["scifact", "scifact.train"]]
    assert [label.partition(" (")[0] for label in experiment.averages] == ["mean of 6", "zero-shot mean of 5"]
    assert [label.partition(" (")[0] for label in load({}, "bm25").averages] == ["mean of 6"]


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"datasets": {"nfcorpsu": "train"}}, "trained_on.datasets.nfcorpsu: found 'nfcorpsu'; did you mean 'nfcorpus'?"),
        ({"datasets": {"nfcorpsu": "train"}}, "others; name other training data in `source`"),
        ({"datasets": {"scifact.train": "train"}}, "trained_on.datasets.scifact.train: found 'scifact.train'"),
        ({"datasets": {"nq": "no"}}, "trained_on.datasets.nq: found 'no'"),
        ({"datasets": {"nq": True}}, "trained_on.datasets.nq: found True"),
        ({"data": {}}, "no such key here, allowed are datasets, source"),
        ({}, "trained_on: found {}"),
    ],
)
def test_training_data_that_are_no_known_dataset_are_refused(model: dict[str, Any], stated: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load({"mine": {**model, "trained_on": stated}})
    assert f"custom.systems.mine.{said}" in str(caught.value) or said in str(caught.value)
