"""Checks of what a configuration needs."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from beir_writer import write_beir
from beirflow.config import checks
from beirflow.config.checks import check_installed, check_rule_names
from beirflow.config.load import load_experiment
from beirflow.core.errors import ConfigError
from beirflow.ranking.measures.all_measures import MEASURES
from beirflow.run.undocumented import PlannedJob
from workflow_rules import workflow_rules


def planned(rule: str, system: str | None = None, *, uses_gpu: bool = False) -> PlannedJob:
    return PlannedJob(rule, {} if system is None else {"system": system}, writes=True, functions=(), uses_gpu=uses_gpu)


NEEDED = ("models", "onnx", "faiss", "sentence-transformers")


@pytest.mark.parametrize(
    ("job", "extras"),
    [
        (planned("encode_chunk", "enc", uses_gpu=True), {"models"}),
        (planned("measure_latency", "enc", uses_gpu=True), {"models"}),
        (planned("encode_chunk", "graph", uses_gpu=True), {"models", "onnx"}),
        (planned("encode_chunk", "lib", uses_gpu=True), {"models", "sentence-transformers"}),
        (planned("encode_chunk", uses_gpu=True), {"models", "onnx", "sentence-transformers"}),  # of several systems
        (planned("search_approximate", "index"), {"faiss"}),
        (planned("build_index", "enc"), {"faiss"}),
        (planned("evaluate_run", "enc"), set()),
        (planned("search_index", "bm25", uses_gpu=True), set()),
    ],
    ids=lambda each: f"{each.rule} {each.system}" if isinstance(each, PlannedJob) else None,
)
def test_what_planned_jobs_compute_with_must_be_installed(
    job: PlannedJob, extras: set[str], tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = {"model": str(tiny_bert), "pooling": "mean", "similarity": "dot"}
    own = {
        "enc": model,
        "graph": {"model": "some/graph", "revision": "0" * 40, "weights": "onnx/model.onnx"},
        "lib": {"encoder": "sentence-transformers", "model": str(tiny_bert), "similarity": "dot"},
        "index": {"approximate": "enc", "index": "sq", "rescore": 1},
    }
    experiment = load_experiment({"systems": "bm25", "datasets": "scifact", "custom": {"systems": own}})
    # Chosen afterwards, since the model of one is not here.
    experiment = replace(experiment, config=experiment.config | {"systems": ["bm25", *own]})
    check_installed(experiment, [job])
    monkeypatch.setattr(checks, "MODULES", dict.fromkeys(NEEDED, ("json", "no_such_package")))
    with pytest.raises(ConfigError) if extras else nullcontext() as raised:
        check_installed(experiment, [job])
    lines = str(raised.value).split("\n  ") if raised else []
    todo = "no_such_package, not installed here; install it with: pip install 'beirflow[{}]'"
    assert {line.partition("[")[2].partition("]")[0] for line in lines} == extras
    assert all(line.endswith(f"computes with {todo.format(each)}") for line in lines for each in extras if f"[{each}]" in line)


def test_a_reranker_without_a_first_stage_needs_candidates_of_the_dataset(tmp_path: Path) -> None:
    with_some = {"q1": {"text": "one?", "candidate_ids": ["d1"]}}
    for name, queries in (("some", with_some), ("none", {"q1": "one?"})):
        write_beir(tmp_path / name, {"d1": "one"}, queries, {"q1": {"d1": 1}})
    systems = {"ce": {"family": "rerank", "model": "all-minilm-l6-v2"}}
    config = {"systems": "ce", "data_dir": str(tmp_path), "custom": {"systems": systems}}
    assert load_experiment({**config, "datasets": "some"}).chosen_systems == ["ce"]
    with pytest.raises(ConfigError, match="queries of none have no candidates, so ce needs a first stage, such as bm25"):
        load_experiment({**config, "datasets": ["some", "none"]})


def test_a_name_that_no_rule_has_is_refused_with_the_nearest() -> None:
    rules = ["encode_chunk", "search_chunk"]
    check_rule_names({"encode_chunk"}, rules)
    with pytest.raises(ConfigError) as refusal:
        check_rule_names({"encode_chunks", "qqq", "search_chunk"}, rules)
    assert str(refusal.value).splitlines()[1:] == [
        "  set-resources, set-threads: found 'encode_chunks', which is no rule; did you mean 'encode_chunk'?",
        "  set-resources, set-threads: found 'qqq', which is no rule",
    ]


def test_the_profile_for_slurm_names_only_rules() -> None:
    profile = Path(__file__).parents[3] / "workflow/profiles/slurm/profile.yaml"
    check_rule_names(yaml.safe_load(profile.read_text())["set-resources"], workflow_rules())


@pytest.mark.parametrize(
    ("key", "measure", "expected"),
    [
        ("main_measure", "NDGC@10", r"'NDGC@10'; expected a measure with a cutoff, .*did you mean 'NDCG@10'\?"),
        ("main_measure", "Hole@10", r"'Hole@10'; expected a measure"),  # no system is ranked by what nobody judged
        ("main_measure", "NDCG", r"'NDCG'; expected a measure with a cutoff, such as NDCG@10"),
        ("main_measure", "NDCG@7", r"'NDCG@7'; expected a measure at one of the cutoffs"),
        ("gate", {"measure": "recall@100"}, r"gate\.measure: found 'recall@100'; .*did you mean 'Recall@100'\?"),
    ],
)
def test_a_measure_is_one_that_ranks_systems(key: str, measure: object, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected) as refused:
        load_experiment({"systems": "bm25", "datasets": "scifact", key: measure})
    assert len(str(refused.value).splitlines()) == 2


@pytest.mark.parametrize("name", [name for name, each in MEASURES.items() if each.ranks_systems and not each.needs])
def test_any_measure_of_every_dataset_can_be_the_main_one(name: str) -> None:
    assert load_experiment({"systems": "bm25", "datasets": "scifact", "main_measure": f"{name}@10"}).main_measure == f"{name}@10"
