"""Systems that need the runs of others: what is needed, and what cannot be."""

from pathlib import Path
from typing import Any

import pytest
from beirflow.experiment.experiment import Experiment
from beirflow.experiment.load import load_experiment
from beirflow.files.errors import ConfigError

FUSED = {"family": "fusion", "of": ["bm25", "bm25-multifield"]}


def config(systems: dict[str, Any], *chosen: str, **more: Any) -> dict[str, Any]:
    return {"systems": list(chosen or systems), "datasets": ["scifact"], "custom": {"systems": systems}} | more


def problems_of(*arguments: Any, **more: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_experiment(config(*arguments, **more))
    return [line.strip() for line in str(caught.value).splitlines()[1:]]


def load(*arguments: Any, **more: Any) -> Experiment:
    return load_experiment(config(*arguments, **more))


def test_systems_that_others_need_are_needed_once_after_those_that_are_chosen() -> None:
    systems = {"fused": FUSED, "deeper": {"family": "fusion", "of": ["fused", "bm25", "bm25-multifield"]}}
    experiment = load(systems, "deeper")
    assert experiment.chosen_systems == ["deeper"]
    assert experiment.needed_systems == ["deeper", "fused", "bm25", "bm25-multifield"]
    assert experiment.first_stages("deeper") == ["fused", "bm25", "bm25-multifield"]
    assert load(systems, "bm25").needed_systems == ["bm25"]


def test_runs_of_systems_that_read_runs_are_not_merged() -> None:
    experiment = load({"fused": FUSED, "theirs": {"run": "/no/{dataset}"}, "mine": {"family": "lexical"}}, "mine")
    assert not {"fused", "theirs"} & set(experiment.merged_systems)
    assert {"mine", "bm25", "contriever"} <= set(experiment.merged_systems)
    assert experiment.systems["theirs"].family == "run"


def test_a_system_that_is_not_known_is_named_with_the_nearest_even_where_it_is_not_chosen() -> None:
    (problem,) = problems_of({"fused": {**FUSED, "of": ["bm25", "bm25-multifeild"]}}, "bm25")
    assert problem.startswith("custom.systems.fused.of.1: found 'bm25-multifeild'; allowed are contriever,")
    assert problem.endswith("did you mean 'bm25-multifield'?")


def test_circles_are_shown() -> None:
    systems = {
        name: {"family": "fusion", "of": [other, "bm25"]} for name, other in (("a", "b"), ("b", "c"), ("c", "b"), ("d", "d"))
    }
    found = problems_of(systems, "bm25")
    assert [line.partition(";")[0] for line in found] == [
        "custom.systems.b.of.0: found 'c'",
        "custom.systems.c.of.0: found 'b'",
        "custom.systems.d.of.0: found 'd'",
    ]
    assert "no system can need its own run, but b needs c needs b; name another" in found[0]
    assert "but d needs d;" in found[2]


def test_a_system_that_is_needed_must_be_possible_too() -> None:
    systems = {"fused": {**FUSED, "of": ["bm25", "dense"]}, "dense": {"model": "/no/model"}}
    (problem,) = problems_of(systems, "fused")
    assert problem.startswith("custom.systems.dense.model: found '/no/model'; nothing is there")
    assert load(systems, "bm25").chosen_systems == ["bm25"]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"depth": 30}, "custom.systems.fused.depth: found 30; a depth can be at most top_k, which is 20"),
        ({"method": "rrf", "normalize": "min-max"}, "fused.normalize: found 'min-max'; method rrf has no normalize"),
        ({"weights": [1, 2]}, "fused.weights: found [1, 2]; method rrf has no weights"),
        ({"method": "sum", "k": 60}, "fused.k: found 60; method sum has no k"),
        ({"method": "sum", "weights": [1]}, "fused.weights: found [1]; expected one number for each of bm25, bm25-multifield"),
        ({"of": ["bm25"]}, "fused.of: found ['bm25']"),
        ({"of": ["bm25", "bm25"]}, "non-unique"),
        ({"method": "rff"}, "did you mean 'rrf'?"),
        ({"wieghts": [1]}, "did you mean 'weights'?"),
        ({"method": "sum", "weights": [1, float("nan")]}, "fused.weights.1: found nan"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_or_would_be_ignored_are_refused(settings: dict[str, Any], says: str) -> None:
    (problem,) = problems_of({"fused": FUSED | settings}, "fused", top_k=20, cutoffs=[10])
    assert says in problem


def test_a_run_is_looked_for_on_every_dataset(tmp_path: Path) -> None:
    (tmp_path / "scifact.trec").write_text("")
    systems = {"theirs": {"run": f"{tmp_path}/{{dataset}}.trec"}, "fused": {"family": "fusion", "of": ["theirs", "bm25"]}}
    experiment = load(systems, "fused")
    assert experiment.run_file("theirs", "scifact") == f"{tmp_path}/scifact.trec"
    assert experiment.run_file("fused", "scifact") is None
    (problem,) = problems_of(systems, "fused", datasets=["scifact", "nfcorpus"])
    assert problem.startswith("custom.systems.theirs.run: found ")
    assert f"there is no file {tmp_path}/nfcorpus.trec, which would be the run on 'nfcorpus'" in problem
    assert load(systems, "bm25", datasets=["scifact", "nfcorpus"]).chosen_systems == ["bm25"]


def test_one_file_is_the_run_on_one_dataset_only(tmp_path: Path) -> None:
    path = tmp_path / "run.trec"
    path.write_text("")
    assert load({"theirs": {"run": str(path)}}).run_file("theirs", "scifact") == str(path)
    (problem,) = problems_of({"theirs": {"run": str(path)}}, datasets=["scifact", "nfcorpus"])
    assert "the run on 'scifact' and on 'nfcorpus'; write {dataset} where the name is" in problem


@pytest.mark.parametrize("run", ["/runs/{system}.trec", "", "/runs/{dataset.trec", "/runs/{}"])
def test_other_names_in_braces_are_refused(run: str) -> None:
    assert any("custom.systems.theirs.run" in line for line in problems_of({"theirs": {"run": run}}))


def test_a_run_has_no_settings_of_other_families_and_a_model_no_run() -> None:
    (problem,) = problems_of({"theirs": {"run": "/x", "pooling": "cls"}})
    assert "custom.systems.theirs.pooling" in problem
    assert "allowed are family, run" in problem
    found = problems_of({"theirs": {"family": "dense", "run": "/x"}})
    assert any("custom.systems.theirs.model" in line and "required" in line for line in found)
    assert any("custom.systems.theirs.run" in line for line in found)


@pytest.mark.parametrize(
    "system",
    [
        {"run": "~nobody-here/{dataset}.trec"},
        {"run": f"/{'x' * 5000}"},
        {"family": "lexical", "expansion": {"path": "~nobody-here/{dataset}.jsonl"}},
    ],
    ids=str,
)
def test_a_file_that_the_disk_does_not_let_be_looked_at_is_said_in_words(system: dict[str, Any]) -> None:
    (problem,) = problems_of({"theirs": system})
    assert problem.startswith("custom.systems.theirs: found 'theirs'; it cannot be read (")
    assert problem.endswith("let the user who runs this read it, or name another")
