"""Datasets are chosen by name, by what they have in common, by split and as samples, and are called what they are."""

from pathlib import Path
from typing import Any

import pytest

from beir_names import FIFTEEN, FORUMS
from beir_writer import write_beir
from beirflow.config.experiment import Experiment
from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError
from beirflow.data.catalogue.choice import corpora_named


def chosen(datasets: Any, **config: Any) -> list[str]:
    return list(load_experiment({"datasets": datasets, **config}).chosen_rows)


def refused(datasets: Any, **config: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load_experiment({"datasets": datasets, **config})
    return str(caught.value)


def test_a_single_name_does_where_a_list_is_meant_and_nothing_is_a_part_of_what_is_not_there() -> None:
    assert corpora_named("x.sample-5", {}) is corpora_named("x.dev", {}) is None
    experiment = load_experiment({"systems": "bm25", "datasets": "scifact"})
    assert (experiment.chosen_systems, experiment.chosen_rows) == (["bm25"], {"scifact": ["scifact"]})


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"task": "Fact Checking"}, ["fever", "climate-fever", "scifact"]),
        ({"task": ["fact checking", "Citation Prediction"], "domain": "scientific"}, ["scifact", "scidocs"]),
        ({"largest": 10_000}, ["nfcorpus", "arguana", "scifact"]),
        ({"largest": 9_999, "domain": "Bio-Medical"}, ["nfcorpus"]),
        ({"language": "English"}, [*FIFTEEN]),
        (["nfcorpus.dev", "all", "scifact"], ["nfcorpus.dev", *FIFTEEN]),
        ({"split": "dev", "largest": 60_000}, ["nfcorpus.dev", "fiqa.dev"]),
        ({"split": "dev", "task": "Passage Retrieval"}, ["msmarco"]),
        ({"split": "test", "domain": "StackExchange"}, ["cqadupstack"]),
    ],
    ids=str,
)
def test_datasets_are_chosen_by_what_they_have_in_common(wanted: dict[str, Any], expected: list[str]) -> None:
    assert sorted(chosen(wanted)) == sorted(expected)


@pytest.mark.parametrize(
    ("datasets", "parts"),
    [
        ({"task": "Fact Cheking"}, ["datasets.task: found 'Fact Cheking'", "Citation Prediction", "mean 'Fact Checking'?"]),
        ({"domain": ["Finance", "x"]}, ["datasets.domain: found 'x'", "Wikipedia"]),
        ({"language": "German"}, ["datasets.language: found 'German'; allowed are English"]),
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
        (["scifact.sample-0"], ["found 'scifact.sample-0'"]),
        ("bright.biolgy", ["allowed are bright.biology, ", "did you mean 'bright.biology'?"]),
        ("nanobier", ["allowed are msmarco, ", "did you mean 'nanobeir'?"]),
        ("longembed.passkey.test_256", ["is evaluated on test_256; it has no other splits"]),
        ("followir.core18", ["allowed are followir.robust04", "did you mean 'followir.core17'?"]),
        ("freshstack.lanchain", ["allowed are freshstack.langchain", "did you mean 'freshstack.langchain'?"]),
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


def test_another_split_is_a_dataset_of_its_own_name() -> None:
    experiment = load_experiment({"datasets": ["nfcorpus", "nfcorpus.dev"]})
    dev = experiment.datasets["nfcorpus.dev"]
    assert (dev.split, dev.queries, dev.part_of, dev.archive) == ("dev", 324, "nfcorpus", "nfcorpus")
    assert set(dev.files) == {"corpus.jsonl", "queries.jsonl"}
    assert experiment.datasets["nfcorpus"].queries == 323
    assert experiment.corpus_settings("nfcorpus.dev")["part_of"] == "nfcorpus"


def test_a_sample_is_named_as_such_wherever_the_dataset_is() -> None:
    experiment = load_experiment({"datasets": ["scifact", "cqadupstack"], "sample_queries": 50})
    assert list(experiment.chosen_rows) == ["scifact.sample-50", "cqadupstack.sample-50"]
    assert experiment.chosen_rows["cqadupstack.sample-50"] == [f"cqadupstack.sample-50-{forum}" for forum in FORUMS]
    assert experiment.corpus_settings("scifact.sample-50")["sample"] == {"queries": 50, "seed": 0}
    assert experiment.corpus_settings("scifact")["sample"] is None
    assert experiment.catalogue.reference("bm25", "scifact.sample-50", "NDCG@10") is None
    assert experiment.source_files("cqadupstack.sample-50-tex") == ["<results>/data/cqadupstack.zip"]
    assert experiment.query_blocks("scifact.sample-50") == 1
    assert load_experiment({"datasets": "climate-fever", "sample_queries": 5}).shared_with("climate-fever.sample-5") is None
    both = load_experiment({"datasets": ["fever", "climate-fever"], "sample_queries": 5})
    assert both.shared_with("climate-fever.sample-5") == "fever.sample-5"


def test_a_sample_of_documents_is_named_as_such_too() -> None:
    names = ["dbpedia-entity.documents-1000000", "nfcorpus.dev.documents-100-seed-7", "scifact.documents-5183"]
    experiment = load_experiment({"datasets": names})
    large, small, more = (experiment.datasets[name] for name in names)
    assert (large.sample_documents, large.documents_seed, large.part_of) == (1_000_000, 0, "dbpedia-entity")
    assert (small.sample_documents, small.documents_seed, small.split, small.sample_queries) == (100, 7, "dev", None)
    assert [experiment.documents(name) for name in names] == [1_000_000, 100, 5_183]
    assert experiment.corpus_settings(names[1])["expected"]["documents"] == 3_633
    assert experiment.corpus_settings(names[1])["document_sample"] == {"documents": 100, "seed": 7}
    assert experiment.chunks(names[0]) < experiment.chunks("dbpedia-entity")
    assert chosen(names[1:2], sample_queries=5) == [f"{names[1]}.sample-5"]
    assert "found 'scifact.sample-5.documents-9'" in refused(["scifact.sample-5.documents-9"])
    assert more.whole_row == "scifact"


def test_another_treatment_of_self_matches_is_a_dataset_of_its_own_name() -> None:
    names = [
        "scifact.self-matches-kept",
        "nfcorpus.dev.self-matches-kept.documents-100.sample-5",
        "bright.pony.self-matches-dropped",
    ]
    experiment = load_experiment({"systems": "bm25", "datasets": ["scifact", *names]})
    kept, part, dropped = (experiment.datasets[name] for name in names)
    assert [each.drop_self_matches for each in (experiment.datasets["scifact"], kept, part, dropped)] == [
        True,
        False,
        False,
        True,
    ]
    assert (kept.part_of, part.split, part.sample_documents, part.sample_queries) == ("scifact", "dev", 100, 5)
    assert [experiment.retrieval(name)["drop_self_matches"] for name in ("scifact", *names)] == [True, False, False, True]
    assert experiment.source_files(names[0]) == experiment.source_files("scifact")
    # So the data count as others than the official ones, and no published score is beside the result.
    assert experiment.corpus_settings(names[0])["part_of"] == "scifact"
    assert experiment.catalogue.reference("bm25", names[0], "NDCG@10") is None
    forums = load_experiment({"datasets": "cqadupstack.self-matches-kept"}).chosen_rows["cqadupstack.self-matches-kept"]
    assert forums == [f"cqadupstack.self-matches-kept-{forum}" for forum in FORUMS]
    assert chosen(names[:1], sample_queries=5) == [f"{names[0]}.sample-5"]
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


def test_the_configuration_of_a_run_means_the_same_to_its_jobs() -> None:
    said = {"systems": "bm25", "datasets": {"task": "Fact Checking"}, "sample_queries": 20}
    once = load_experiment(said)
    assert load_experiment(once.config).chosen_rows == once.chosen_rows
    assert load_experiment({}).config["datasets"] == "all"


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
    assert experiment.run_file("theirs", "scifact.sample-5") == str(tmp_path / "scifact.trec")
    assert experiment.encoding("e5", "scifact.sample-5")["query_prefix"] == "Instruct: find "
