"""A sparse system and one of late interaction through Snakemake: what runs, what runs again."""

import csv
from copy import deepcopy
from typing import Any

import pytest

from tiny_colbert import save_colbert
from tiny_sparse import save_masked_lm
from workflow_runs import Workflow, config_of, small_dataset

SUMMARY = "results/summary.csv"
CHUNKS = 2


@pytest.fixture(scope="session")
def both_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workflow, dict[str, int]]:
    """A whole run, and its jobs by rule."""
    folder = tmp_path_factory.mktemp("both")
    systems: dict[str, dict[str, Any]] = {
        "splade": {"family": "sparse", "model": str(save_masked_lm(folder / "splade")), "quantize": "lucene"},
        "colbert": {"family": "late-interaction", "model": str(save_colbert(folder / "colbert"))},
    }
    config = config_of(systems, small_dataset(folder / "data", 10 * CHUNKS))
    workflow = Workflow(folder / "work", config)
    workflow.folder.mkdir()
    goals = (SUMMARY, "results/cost.csv", "results/systems.csv")
    workflow.run(*goals)
    return workflow, workflow.ran()


@pytest.fixture
def changed(both_once: tuple[Workflow, dict[str, int]]) -> Workflow:
    """The same with a configuration that a test may change; nothing may run in it."""
    return Workflow(both_once[0].folder, deepcopy(both_once[0].config))


def test_a_whole_run(both_once: tuple[Workflow, dict[str, int]]) -> None:
    workflow, jobs = both_once
    once = ("fetch_sparse_model", "weigh_queries", "fetch_model", "encode_query_tokens")
    of_chunks = ("weigh_chunk", "search_weights", "encode_tokens", "search_tokens")
    of_all = ("prepare_corpus", "summarize", "collect_costs", "describe_systems")
    of_systems = ("merge_chunks", "evaluate_run")
    assert jobs == dict.fromkeys((*once, *of_all), 1) | dict.fromkeys(of_chunks, CHUNKS) | dict.fromkeys(of_systems, 2)
    for folder, name in (("postings/splade", "weights"), ("tokens/colbert", "chunk")):
        names = {f"{name}-{i}" for i in range(CHUNKS)} | {"queries"}
        found = sorted(path.name for path in workflow.result(f"{folder}/small").iterdir())
        assert found == sorted(f"{name}.{kind}" for name in names for kind in ("arrow", "json"))
    assert not list(workflow.result("candidates").rglob("chunk-*"))
    assert workflow.planned(SUMMARY) == {}
    assert workflow.read("runs/splade/small.json")["counts"]["terms_of_documents"] > 0
    for cost in csv.DictReader(workflow.result("cost.csv").open()):
        assert float(cost["index_bytes"]) > 0
        assert float(cost["search_seconds"]) > 0
    rows = csv.DictReader(workflow.result("systems.csv").open())
    settings = {row["setting"]: row["value"] for row in rows if row["system"] == "colbert"}
    assert (settings["marker of queries"], settings["max_length of documents"]) == ("[unused0]", "20")
    assert settings["dim"] == "16"


def test_changes_run_again_what_they_change(changed: Workflow) -> None:
    splade, colbert = (changed.config["custom"]["systems"][name] for name in ("splade", "colbert"))
    merged = {"merge_chunks": 1, "evaluate_run": 1, "summarize": 1}
    colbert["query_lengths"] = {"small": 9, "another": 20}
    assert changed.planned(SUMMARY) == {"encode_query_tokens": 1, "search_tokens": CHUNKS, **merged}
    del colbert["query_lengths"]
    for change, again in (
        ({"ties": "ascending"}, {}),
        ({"query_prefix": "w1 "}, {"weigh_queries": 1}),
        ({"document_prefix": "w1 "}, {"weigh_chunk": CHUNKS}),
    ):
        changed.config["custom"]["systems"]["splade"] = splade | change
        assert changed.planned(SUMMARY) == {**again, "search_weights": CHUNKS, **merged}
