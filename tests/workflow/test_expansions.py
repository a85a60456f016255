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
DOCUMENTS = 12


@pytest.fixture(scope="session")
def expanded_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workflow, dict[str, int]]:
    """A whole run, and the jobs that it planned; not to be changed."""
    folder = tmp_path_factory.mktemp("expanded")
    small_dataset(folder / "data", DOCUMENTS, queries=3)
    lines = [{"id": f"d{i:03}", "queries": [f"w{i} w7"]} for i in range(DOCUMENTS)]
    (folder / "small.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    writes = {"model": str(save_tiny_t5(folder / "t5")), "queries": 3, "query_length": 8}
    config = {
        "systems": ["appended", "weighted", "given"],
        "datasets": ["small"],
        "precision": "float32",
        "device": "cpu",
        "top_k": 10,
        "cutoffs": [1, 10],
        "audit_sample": 4,
        "custom": {
            "systems": {
                "appended": {"family": "lexical", "expansion": writes},
                "fielded": {"family": "lexical", "expansion": writes | {"join": "field"}, "k1": 1.2},
                "weighted": {"family": "lexical", "weights": {"model": str(save_deepct(folder / "bert"))}},
                "given": {"family": "lexical", "expansion": {"path": f"{folder}/{{dataset}}.jsonl", "join": "field"}},
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


def test_a_whole_run(expanded_once: tuple[Workflow, dict[str, int]]) -> None:
    workflow, planned = expanded_once
    once = dict.fromkeys(("prepare_corpus", "write_queries", "weigh_words", "read_given", "summarize"), 1)
    each = dict.fromkeys(("index_chunk", "sum_statistics", "search_index", "merge_chunks", "evaluate_run"), 3)
    assert planned == {"fetch_expansion_model": 2, **once, **each}
    assert len(list(workflow.result("expansions").iterdir())) == 3
    assert not list(workflow.result("expansions").rglob("*.jsonl"))
    assert read_json(workflow.result("metrics/appended/small.json"))["seconds"]["expand"] > 0
    assert workflow.planned(SUMMARY) == {}


def test_what_is_added_is_shared_and_made_again_where_it_changes(changeable: Workflow) -> None:
    systems = changeable.config["custom"]["systems"]
    after = dict.fromkeys(("search_index", "merge_chunks", "evaluate_run", "summarize"), 1)
    indexed = {"index_chunk": 1, "sum_statistics": 1}
    changeable.config["systems"].append("fielded")
    assert changeable.planned(SUMMARY) == {**indexed, **after}
    changeable.config["systems"].remove("fielded")
    systems["weighted"]["weights"]["scale"] = "none"
    assert changeable.planned(SUMMARY) == {**indexed, **after}
    del systems["weighted"]["weights"]["scale"]
    systems["appended"]["expansion"]["seed"] = 1
    assert changeable.planned(SUMMARY) == {"fetch_expansion_model": 1, "write_queries": 1, **indexed, **after}


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
    changeable.config["systems"].append("fielded")
    systems["weighted"]["weights"] = {"model": systems["fielded"]["expansion"]["model"]}
    systems["given"]["expansion"]["path"] = "/nowhere/{dataset}.jsonl"
    said = changeable.run(SUMMARY, ok=False)
    assert "appended.expansion.model: found '/nowhere'; nothing is there" in said
    assert "fielded.fields: found ['title', 'text']; beside a field of queries title and text are one" in said
    assert "weighted.weights.model: found" in said
    assert "expected DeepCT's kind" in said
    assert "given.expansion.path: found '/nowhere/{dataset}.jsonl'; there is no file /nowhere/small.jsonl" in said
    assert result_files(changeable.result("")).keys() == before
