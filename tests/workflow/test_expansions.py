"""Expansions through Snakemake: what systems share, what runs again, what the audit makes again, what is refused before."""

import json
import shutil
from copy import deepcopy
from pathlib import Path

import pytest
from beirflow.files.records import read_json
from faults_at_work import result_files
from tiny_expanders import save_deepct, save_tiny_t5
from workflow_runs import Workflow, small_dataset

SUMMARY = "results/summary.csv"
CHUNKS, DOCUMENTS = 2, 12


@pytest.fixture(scope="session")
def expanded_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workflow, dict[str, int]]:
    """A whole run, and the jobs that it planned; not to be changed."""
    folder = tmp_path_factory.mktemp("expanded")
    small_dataset(folder / "data", DOCUMENTS, queries=3)
    lines = [{"id": f"d{i:03}", "queries": [f"w{i} w7"]} for i in range(DOCUMENTS)]
    (folder / "small.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    writes = {"model": str(save_tiny_t5(folder / "t5")), "queries": 3, "query_length": 8}
    config = {
        "systems": ["appended", "fielded", "weighted", "given"],
        "datasets": ["small"],
        "precision": "float32",
        "device": "cpu",
        "chunk_documents": 6,
        "top_k": 10,
        "cutoffs": [1, 10],
        "audit_sample": 4,
        "custom": {
            "systems": {
                "appended": {"family": "lexical", "expansion": writes},
                "fielded": {"family": "lexical", "expansion": writes | {"join": "field"}, "k1": 1.2},
                "weighted": {"family": "lexical", "weights": {"model": str(save_deepct(folder / "bert"))}},
                "given": {"family": "lexical", "expansion": {"path": f"{folder}/{{dataset}}.jsonl"}},
            },
            "datasets": {"small": {"path": str(folder / "data")}},
        },
    }
    workflow = Workflow(folder / "work", config)
    workflow.folder.mkdir()
    planned = workflow.planned(SUMMARY)
    workflow.run(SUMMARY)
    return workflow, planned


@pytest.fixture
def changeable(expanded_once: tuple[Workflow, dict[str, int]], tmp_path: Path) -> Workflow:
    """A copy of that run that a test may change."""
    shutil.copytree(expanded_once[0].folder, tmp_path / "copy")
    return Workflow(tmp_path / "copy", deepcopy(expanded_once[0].config))


def test_two_uses_share_one_expansion(expanded_once: tuple[Workflow, dict[str, int]]) -> None:
    workflow, planned = expanded_once
    assert planned == {
        "fetch_expansion_model": 2,
        "prepare_corpus": 1,
        "write_queries": CHUNKS,
        "weigh_words": CHUNKS,
        "read_given": CHUNKS,
        "index_chunk": 4 * CHUNKS,
        "sum_statistics": 4,
        "search_index": 4 * CHUNKS,
        "merge_chunks": 4,
        "evaluate_run": 4,
        "summarize": 1,
    }
    assert len(list(workflow.result("expansions").iterdir())) == 3
    assert not list(workflow.result("expansions").rglob("*.jsonl"))
    seconds = read_json(workflow.result("metrics/appended/small.json"))["seconds"]
    assert seconds["expand"] > 0
    assert workflow.planned(SUMMARY) == {}


def test_changes_run_again_what_they_change(changeable: Workflow) -> None:
    systems = changeable.config["custom"]["systems"]
    after = {"search_index": CHUNKS, "merge_chunks": 1, "evaluate_run": 1, "summarize": 1}
    indexed = {"index_chunk": CHUNKS, "sum_statistics": 1}
    systems["weighted"]["weights"]["scale"] = "none"
    assert changeable.planned(SUMMARY) == {**indexed, **after}
    systems["weighted"]["b"] = 0.7
    assert changeable.planned(SUMMARY) == {**indexed, **after}
    del systems["weighted"]["weights"]["scale"]
    assert changeable.planned(SUMMARY) == after
    del systems["weighted"]["b"]
    systems["fielded"]["expansion"]["seed"] = 1
    assert changeable.planned(SUMMARY) == {"fetch_expansion_model": 1, "write_queries": CHUNKS, **indexed, **after}
    systems["fielded"]["expansion"]["seed"] = 0
    given = Path(systems["given"]["expansion"]["path"].replace("{dataset}", "small"))
    systems["given"]["expansion"]["path"] = str(changeable.folder / "{dataset}.jsonl")
    (changeable.folder / "small.jsonl").write_bytes(given.read_bytes())
    assert changeable.planned(SUMMARY) == {"read_given": CHUNKS, **indexed, **after}


def test_the_audit_makes_a_sample_again(changeable: Workflow) -> None:
    assert "The audit of results passed" in changeable.run("audit", "results/report.html", "results/cost.csv")
    sections = read_json(changeable.result("audit.json"))["sections"]
    found = {check["name"] for section in sections.values() for check in section if check["status"] == "passed"}
    assert {
        "queries written again are the stored ones",
        "words weighed again have the stored weights",
        "documents analysed again have the stored postings",
        "queries searched again have the recorded ranks",
        "models are those that were used",
        "expansions are those of their files",
    } <= found
    assert not [check for check in sections["sample"] if check["status"] != "passed"]


def test_what_cannot_be_used_is_said_before_anything_runs(changeable: Workflow) -> None:
    before = result_files(changeable.result("")).keys()
    systems = changeable.config["custom"]["systems"]
    systems["appended"]["expansion"] = {"model": "/nowhere", "quries": 3}
    said = changeable.run(SUMMARY, ok=False)
    assert "appended.expansion.quries: found 'quries'; no such key here" in said
    assert "did you mean 'queries'?" in said
    systems["appended"]["expansion"] = {"model": "/nowhere"}
    systems["fielded"]["fields"] = ["title", "text"]
    systems["weighted"]["weights"] = {"model": systems["fielded"]["expansion"]["model"]}
    systems["given"]["expansion"]["path"] = "/nowhere/{dataset}.jsonl"
    said = changeable.run(SUMMARY, ok=False)
    assert "appended.expansion.model: found '/nowhere'; nothing is there" in said
    assert "fielded.fields: found ['title', 'text']; beside a field of queries title and text are one" in said
    assert "weighted.weights.model: found" in said
    assert "expected DeepCT's kind" in said
    assert "given.expansion.path: found '/nowhere/{dataset}.jsonl'; there is no file /nowhere/small.jsonl" in said
    assert result_files(changeable.result("")).keys() == before
