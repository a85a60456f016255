"""A system of late interaction through Snakemake: what runs, what runs again, and what an audit says."""

import csv
from copy import deepcopy

import pytest
from tiny_colbert import save_colbert
from workflow_runs import Workflow, small_dataset

SUMMARY = "results/summary.csv"
CHUNKS = 2


@pytest.fixture(scope="session")
def late_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workflow, dict[str, int]]:
    """A whole run, and its jobs by rule."""
    folder = tmp_path_factory.mktemp("late")
    small_dataset(folder / "data", 20, queries=4)
    config = {
        "systems": ["colbert"],
        "datasets": ["small"],
        "precision": "float32",
        "device": "cpu",
        "chunk_documents": 10,
        "top_k": 15,
        "cutoffs": [1, 10],
        "audit_sample": 5,
        "custom": {
            "systems": {"colbert": {"family": "late-interaction", "model": str(save_colbert(folder / "model"))}},
            "datasets": {"small": {"path": str(folder / "data")}},
        },
    }
    workflow = Workflow(folder / "work", config)
    workflow.folder.mkdir()
    goals = (SUMMARY, "results/cost.csv", "results/systems.csv")
    planned = workflow.planned(*goals)
    workflow.run(*goals)
    return workflow, planned


@pytest.fixture
def changed(late_once: tuple[Workflow, dict[str, int]]) -> Workflow:
    """The same with a configuration that a test may change; nothing may run in it."""
    return Workflow(late_once[0].folder, deepcopy(late_once[0].config))


def test_a_whole_run(late_once: tuple[Workflow, dict[str, int]]) -> None:
    workflow, jobs = late_once
    assert jobs == {
        "fetch_model": 1,
        "prepare_corpus": 1,
        "encode_query_tokens": 1,
        "encode_tokens": CHUNKS,
        "search_tokens": CHUNKS,
        "merge_chunks": 1,
        "evaluate_run": 1,
        "summarize": 1,
        "collect_costs": 1,
        "describe_systems": 1,
    }
    names = {f"chunk-{i}" for i in range(CHUNKS)} | {"queries"}
    found = sorted(path.name for path in workflow.result("tokens/colbert/small").iterdir())
    assert found == sorted(f"{name}.{kind}" for name in names for kind in ("arrow", "json"))
    assert not list(workflow.result("candidates").rglob("*.npz"))
    (cost,) = csv.DictReader(workflow.result("cost.csv").open())
    assert float(cost["index_bytes"]) > 0
    assert float(cost["search_seconds"]) > 0
    settings = {row["setting"]: row["value"] for row in csv.DictReader(workflow.result("systems.csv").open())}
    assert (settings["marker of queries"], settings["max_length of documents"]) == ("[unused0]", "20")
    assert settings["dim"] == "16"


def test_changes_run_again_what_they_change(changed: Workflow) -> None:
    system = changed.config["custom"]["systems"]["colbert"]
    system["query_lengths"] = {"small": 9, "another": 20}
    after_encoding = {"search_tokens": CHUNKS, "merge_chunks": 1, "evaluate_run": 1, "summarize": 1}
    assert changed.planned(SUMMARY) == {"encode_query_tokens": 1, **after_encoding}


def test_the_audit_makes_a_sample_again(changed: Workflow) -> None:
    assert "The audit of results passed" in changed.run("audit")
    page = changed.result("audit.html").read_text().lower()
    for what in ("documents encoded again", "queries encoded again", "queries searched again", "models are those that were used"):
        assert what in page
    assert "built-in method" not in page
