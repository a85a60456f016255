"""Systems that need the runs of others, or are tuned: what is needed and on which corpora, what cannot be, what they learnt."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from beir_writer import write_beir
from beirflow.config.experiment import Experiment
from beirflow.config.families import FAMILIES
from beirflow.config.from_manifest import experiment_of
from beirflow.config.load import load_experiment
from beirflow.config.readers import averages, blocks, in_domain
from beirflow.config.systems import catalogue_systems
from beirflow.core.errors import ConfigError
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.families.stage import Task
from refusals import problems_of
from tiny_bert import save_tiny_bert

PAIR = ["bm25", "bm25-multifield"]
FUSED = {"family": "fusion", "of": PAIR}


def run_of(experiment: Experiment, system: str, dataset: str) -> Path | None:
    """The file outside the results that holds a run."""
    return experiment.family(system).source(experiment.systems[system].settings, dataset)


def config(systems: dict[str, Any], *chosen: str, **more: Any) -> dict[str, Any]:
    return {"systems": list(chosen or systems), "datasets": ["scifact"], "custom": {"systems": systems}} | more


def load(*arguments: Any, **more: Any) -> Experiment:
    return load_experiment(config(*arguments, **more))


unusable = partial(problems_of, load=load)


def test_systems_that_others_need_are_needed_once_after_those_that_are_chosen() -> None:
    systems = {"fused": FUSED, "deeper": {"family": "fusion", "of": ["fused", "bm25", "bm25-multifield"]}}
    experiment = load(systems, "deeper")
    assert experiment.chosen_systems == ["deeper"]
    assert experiment.needed_systems == ["deeper", "fused", "bm25", "bm25-multifield"]
    assert experiment.first_stages("deeper") == ["fused", "bm25", "bm25-multifield"]
    assert load(systems, "bm25").needed_systems == ["bm25"]
    # Runs of systems that read runs are not merged.
    experiment = load({"fused": FUSED, "theirs": {"run": "/no/{dataset}"}, "mine": {"family": "lexical"}}, "mine")
    assert not {"fused", "theirs"} & set(experiment.merged_systems)
    assert {"mine", "bm25", "contriever"} <= set(experiment.merged_systems)
    assert experiment.systems["theirs"].family == "run"


def test_a_system_that_is_not_known_is_named_where_it_is_not_chosen_and_one_that_is_needed_must_be_possible() -> None:
    (problem,) = unusable({"fused": {**FUSED, "of": ["bm25", "bm25-multifeild"]}}, "bm25")
    assert problem.startswith("custom.systems.fused.of: found 'bm25-multifeild'; did you mean 'bm25-multifield'?")
    assert problem.endswith(" others; or define it under custom.systems")
    systems = {"fused": {**FUSED, "of": ["bm25", "dense"]}, "dense": {"model": "/no/model"}}
    (problem,) = unusable(systems, "fused")
    assert problem.startswith("custom.systems.dense.model: found '/no/model'; nothing is there")
    assert load(systems, "bm25").chosen_systems == ["bm25"]


def test_circles_are_shown() -> None:
    needs = {"a": "b", "b": "c", "c": "b", "d": "d"}
    found = unusable({name: {"family": "fusion", "of": [other, "bm25"]} for name, other in needs.items()}, "bm25")
    expected = [f"custom.systems.{name}.of: found '{needs[name]}'" for name in "bcd"]
    assert [line.partition(";")[0] for line in found] == expected
    assert "circular dependency, b -> c -> b; name another system" in found[0]
    assert "circular dependency, d -> d;" in found[2]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"depth": 30}, "custom.systems.fused.depth: found 30; a depth can be at most top_k, which is 20"),
        ({"method": "rrf", "normalize": "min-max"}, "fused.normalize: found 'min-max'; method rrf has no normalize"),
        ({"weights": [1, 2]}, "fused.weights: found [1, 2]; method rrf has no weights"),
        ({"method": "sum", "k": 60}, "fused.k: found 60; method sum has no k"),
        ({"method": "sum", "weights": [1]}, "fused.weights: found [1]; expected one number for each of bm25, bm25-multifield"),
        ({"of": ["bm25"]}, "fused.of: found ['bm25']"),
        ({"of": ["bm25", "bm25"]}, "duplicate entry"),
        ({"method": "rff"}, "did you mean 'rrf'?"),
        ({"wieghts": [1]}, "did you mean 'weights'?"),
        ({"method": "sum", "weights": [1, float("nan")]}, "fused.weights: found nan"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_or_would_be_ignored_are_refused(settings: dict[str, Any], says: str) -> None:
    (problem,) = unusable({"fused": FUSED | settings}, "fused", top_k=20, cutoffs=[10])
    assert says in problem


def test_a_run_is_looked_for_on_every_dataset(tmp_path: Path) -> None:
    (tmp_path / "scifact.trec").write_text("")
    systems = {"theirs": {"run": f"{tmp_path}/{{dataset}}.trec"}, "fused": {"family": "fusion", "of": ["theirs", "bm25"]}}
    experiment = load(systems, "fused")
    assert run_of(experiment, "theirs", "scifact") == tmp_path / "scifact.trec"
    assert run_of(experiment, "fused", "scifact") is None
    (problem,) = unusable(systems, "fused", datasets=["scifact", "nfcorpus"])
    assert problem.startswith("custom.systems.theirs.run: found ")
    assert f"there is no file {tmp_path}/nfcorpus.trec, which would be the run on 'nfcorpus'" in problem
    assert load(systems, "bm25", datasets=["scifact", "nfcorpus"]).chosen_systems == ["bm25"]
    # One file is the run on one dataset only.
    path = tmp_path / "run.trec"
    path.write_text("")
    assert run_of(load({"theirs": {"run": str(path)}}), "theirs", "scifact") == path
    (problem,) = unusable({"theirs": {"run": str(path)}}, datasets=["scifact", "nfcorpus"])
    assert "the run on 'scifact' and on 'nfcorpus'; write {dataset} where the name is" in problem


def test_a_run_has_no_other_names_in_braces_no_settings_of_other_families_and_a_model_no_run() -> None:
    for run in ("/runs/{system}.trec", "", "/runs/{dataset.trec", "/runs/{}"):
        assert any("custom.systems.theirs.run" in line for line in unusable({"theirs": {"run": run}}))
    (problem,) = unusable({"theirs": {"run": "/x", "pooling": "cls"}})
    assert "custom.systems.theirs.pooling" in problem
    assert "allowed are family, trained_on, run" in problem
    found = unusable({"theirs": {"family": "dense", "run": "/x"}})
    assert any("custom.systems.theirs.model" in line and "required" in line for line in found)
    assert any("custom.systems.theirs.run" in line for line in found)


def test_a_file_that_the_disk_does_not_let_be_looked_at_is_said_in_words() -> None:
    added = {"family": "lexical", "expansion": {"path": "~nobody-here/{dataset}.jsonl"}}
    for system in ({"run": "~nobody-here/{dataset}.trec"}, {"run": f"/{'x' * 5000}"}, added):
        (problem,) = unusable({"theirs": system})
        assert problem.startswith("custom.systems.theirs: found 'theirs'; it cannot be read (")
        assert problem.endswith("let the user who runs this read it, or name another")


def fusion(**tune: Any) -> dict[str, Any]:
    return {"family": "fusion", "of": PAIR, "method": "sum", "normalize": "min-max", "weights": {"tune": tune}}


def tuned(systems: dict[str, Any], *datasets: str, **own: Any) -> Experiment:
    """An experiment with all of these systems but ``inner``, and datasets of the user's own."""
    chosen = [name for name in systems if name != "inner"]
    return load_experiment({"systems": chosen, "datasets": list(datasets), "custom": {"systems": systems, "datasets": own}})


untunable = partial(problems_of, load=tuned)


@pytest.fixture
def forums(tmp_path: Path) -> dict[str, Any]:
    """A dataset of two forums with two splits each."""
    for forum in ("android", "tex"):
        (tmp_path / forum / "qrels").mkdir(parents=True)
        for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv", "qrels/dev.tsv"):
            (tmp_path / forum / name).write_text("{}\n")
    return {"mine": {"path": str(tmp_path), "forums": ["android", "tex"]}}


def test_a_split_is_that_of_each_dataset_and_needs_the_runs_of_the_first_stages_alone() -> None:
    experiment = tuned({"fused": fusion(split="dev")}, "nfcorpus", "fiqa.sample-50")
    assert experiment.tuned_on("fused", "nfcorpus") == "nfcorpus.dev"
    assert experiment.tuned_on("fused", "fiqa.sample-50") == "fiqa.dev"
    assert experiment.tuned_on("bm25", "nfcorpus") is None
    assert tuned({"fused": fusion(split="test")}, "nfcorpus.dev").tuned_on("fused", "nfcorpus.dev") == "nfcorpus"
    on_all = {(system, dataset) for system in PAIR for dataset in ("nfcorpus", "nfcorpus.dev", "fiqa.sample-50", "fiqa.dev")}
    assert set(experiment.needed_runs) == on_all | {("fused", "nfcorpus"), ("fused", "fiqa.sample-50")}
    assert experiment.chosen_datasets == ["nfcorpus", "fiqa.sample-50"]
    assert experiment.tuning_rows == {"nfcorpus.dev": ["nfcorpus.dev"], "fiqa.dev": ["fiqa.dev"]}
    assert experiment.datasets["nfcorpus.dev"].queries == 324
    (stage,), task = FAMILIES["fusion"].stages, Task(experiment, {"system": "fused", "dataset": "nfcorpus"})
    asked = [files for name, files in stage.reads.items() if name.startswith("tuning_") and not isinstance(files, str)]
    assert {path for files in asked for path in files(task)} == {
        *(f"<results>/runs/{system}/nfcorpus.dev.{kind}" for kind in ("parquet", "json") for system in PAIR),
        *(f"<results>/corpora/nfcorpus.dev/{name}" for name in ("corpus.json", "queries.parquet", "qrels.parquet")),
    }


def test_a_dataset_is_that_of_all_and_may_be_a_part_or_a_forum(forums: dict[str, Any]) -> None:
    systems = {"a": fusion(dataset="nfcorpus.dev"), "b": fusion(dataset="mine-tex"), "c": fusion(dataset="fiqa", step=0.2)}
    experiment = tuned(systems, "scifact", "nfcorpus", **forums)
    assert [experiment.tuned_on("a", name) for name in ("scifact", "nfcorpus")] == ["nfcorpus.dev"] * 2
    assert experiment.tuned_on("b", "scifact") == "mine-tex"
    assert experiment.tuning_rows == {"nfcorpus.dev": ["nfcorpus.dev"], "mine": ["mine-tex"], "fiqa": ["fiqa"]}
    # A forum is tuned on the split of its own.
    experiment = tuned({"fused": fusion(split="dev")}, "mine", **forums)
    assert experiment.tuned_on("fused", "mine-tex") == "mine.dev-tex"
    assert experiment.tuning_rows == {"mine.dev": ["mine.dev-android", "mine.dev-tex"]}


def test_a_first_stage_that_is_tuned_too_is_tuned_for_each_corpus() -> None:
    systems = {"outer": {**fusion(dataset="scifact"), "of": ["inner", "bm25"]}, "inner": fusion(split="dev")}
    (problem,) = untunable(systems, "nfcorpus")  # scifact has no dev
    assert problem.startswith("custom.systems.inner.weights.tune.split: found 'dev'; scifact has the splits test, train")
    experiment = tuned({**systems, "inner": fusion(split="train")}, "nfcorpus")
    on = {dataset for system, dataset in experiment.needed_runs if system == "bm25"}
    assert on == {"nfcorpus", "nfcorpus.train", "scifact", "scifact.train"}


def test_nothing_is_tuned_on_queries_that_are_evaluated() -> None:
    for key, on, dataset in (
        ("split", "test", "nfcorpus"),
        ("split", "test", "nfcorpus.sample-20"),
        ("dataset", "nfcorpus", "nfcorpus"),
        ("dataset", "nfcorpus.sample-20", "nfcorpus"),
        ("dataset", "nfcorpus", "nfcorpus.sample-20-seed-2"),
    ):
        (problem,) = untunable({"fused": fusion(**{key: on})}, dataset, *(["scifact"] if key == "dataset" else []))
        assert problem.startswith(f"custom.systems.fused.weights.tune.{key}: found ")
        said = f"fused would be tuned for {dataset} on the queries that are evaluated; name another split or dataset"
        assert problem.endswith(said)


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
    problems = untunable({"fused": fusion(**tune)}, "scifact")
    assert any(says in problem for problem in problems), problems


def test_weights_that_are_too_many_to_be_tried_are_refused() -> None:
    many = {**fusion(split="train", step=0.01), "of": [*PAIR, "a", "b"]}
    systems = {"fused": many, "inner": {"family": "lexical"}, "a": {"family": "lexical"}, "b": {"family": "lexical", "b": 0.1}}
    (problem,) = untunable(systems, "scifact")
    assert "custom.systems.fused.weights.tune.step: found 0.01; these are 176,851 weights of 4 systems" in problem


def test_runs_of_elsewhere_that_are_fused_are_needed_on_what_is_tuned_on(tmp_path: Path) -> None:
    (tmp_path / "scifact.trec").write_text("")
    theirs = {"run": f"{tmp_path}/{{dataset}}.trec"}
    tuned({"fused": {**fusion(split="train"), "of": ["bm25", "theirs"]}, "theirs": theirs}, "scifact")
    (problem,) = untunable({"fused": {**fusion(dataset="fiqa"), "of": ["bm25", "theirs"]}, "theirs": theirs}, "scifact")
    assert f"there is no file {tmp_path}/fiqa.trec, which would be the run on 'fiqa'" in problem


ROWS = ["msmarco", "nq", "fever", "climate-fever", "scifact", "scifact.train"]


def trained(systems: dict[str, Any], *others: str, datasets: list[str] = ROWS) -> Experiment:
    return load(systems, *systems, *others, datasets=datasets)


@pytest.fixture
def model(tmp_path: Path) -> dict[str, Any]:
    return {"model": str(save_tiny_bert(tmp_path / "bert")), "pooling": "mean", "similarity": "cosine"}


def test_every_system_of_the_catalogue_that_learns_names_what_states_its_training_data_or_says_that_nothing_is_known() -> None:
    systems, known = catalogue_systems(), load_catalogue().known_datasets
    learning = {name: system for name, system in systems.items() if FAMILIES[system.family].learns(system.settings)}
    assert all(systems[name].trained_on.source for name in systems if name in learning or systems[name].trained_on.datasets)
    read = ("MTEB 2.26", "Thakur et al. 2021", "(not at hand)", "no training")
    sources = {name: system.trained_on.source for name, system in systems.items() if system.trained_on.source}
    assert [name for name, source in sources.items() if not any(each in source for each in read)] == []
    assert {"bm25", "bm25qs", "bm25-multifield", "rrf-bm25-bge-base"} == set(systems) - set(learning) - {"min-max-bm25-bge-base"}
    assert {each for system in systems.values() for each in system.trained_on.datasets or ()} <= set(known)
    not_stated = {name for name, system in learning.items() if system.trained_on.datasets is None}
    assert not_stated == {"embeddinggemma-300m", *(f"bm25-mxbai-rerank-{size}-v1" for size in ("xsmall", "base", "large"))}
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
    experiment = trained(stated | made, "bm25", datasets=[*ROWS, "nfcorpus"])
    scifact = {"scifact": "train", "scifact.train": "train"}
    assert in_domain(experiment) == {
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
    assert in_domain(experiment_of(manifest, {}, experiment)) == in_domain(experiment)


@pytest.mark.parametrize(("evaluated", "split"), [("own.sample-1", "dev"), ("own.dev", "test"), ("own.dev", "train")])
def test_the_manifest_of_parts_of_an_own_dataset_says_what_was_tuned_on(evaluated: str, split: str, tmp_path: Path) -> None:
    for each in ("test", "dev", "train"):
        write_beir(tmp_path, {"d": "a text"}, {each: f"of {each}" for each in ("test", "dev", "train")}, {each: {"d": 1}}, each)
    tune = {"tune": {"split": split}}
    tuned = {"family": "fusion", "of": ["bm25", "bm25-multifield"], "method": "sum", "weights": tune}
    custom = {"systems": {"tuned": tuned}, "datasets": {"own": {"path": str(tmp_path)}}}
    experiment = load_experiment({"systems": ["tuned"], "datasets": [evaluated], "custom": custom})
    assert in_domain(experiment) == {"tuned": {evaluated: f"{split} (tuned)"}}
    manifest = {key: experiment.configured[key] for key in ("systems", "datasets", "configuration", "tuned_on")}
    assert in_domain(experiment_of(manifest, {}, experiment)) == in_domain(experiment)


def test_ranks_are_over_datasets_that_are_unseen_and_independent() -> None:
    experiment = trained({}, "bm25", "contriever-msmarco")
    assert blocks(experiment) == [["nq"], ["fever", "climate-fever"], ["scifact", "scifact.train"]]
    assert [label.partition(" (")[0] for label in averages(experiment)] == ["mean of 6", "zero-shot mean of 5"]
    assert [label.partition(" (")[0] for label in averages(trained({}, "bm25"))] == ["mean of 6"]


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"datasets": {"nfcorpsu": "train"}}, "trained_on.datasets.nfcorpsu: found 'nfcorpsu'; did you mean 'nfcorpus'?"),
        ({"datasets": {"my logs": "train"}}, "others; name other training data in `source`"),
        ({"datasets": {"scifact.train": "train"}}, "trained_on.datasets.scifact.train: found 'scifact.train'"),
        ({"datasets": {"nq": "no"}}, "trained_on.datasets.nq: found 'no'"),
        ({"datasets": {"nq": True}}, "trained_on.datasets.nq: found True"),
        ({"data": {}}, "no such key here, allowed are datasets, source"),
        ({}, "trained_on: found {}"),
    ],
)
def test_training_data_that_are_no_known_dataset_are_refused(model: dict[str, Any], stated: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        trained({"mine": {**model, "trained_on": stated}})
    assert f"custom.systems.mine.{said}" in str(caught.value) or said in str(caught.value)
