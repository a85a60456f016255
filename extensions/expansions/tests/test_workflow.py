"""Expansions through Snakemake: what systems share, what runs again, what the audit makes again."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from beirflow.audit.replay.replay import SOURCES
from beirflow.config.load import load_experiment
from beirflow.families.lexical import LexicalSettings
from forger import FAILED, PASSED, Forger
from tiny_expanders import save_deepct, save_tiny_t5
from tiny_sparse import save_unicoil
from workflow_runs import Workflow, config_of, small_dataset

SUMMARY = "results/summary.csv"
DOCUMENTS = 12


@pytest.fixture(scope="session")
def expanded_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workflow, dict[str, int]]:
    """A whole run, and its jobs by rule; not to be changed."""
    folder = tmp_path_factory.mktemp("expanded")
    small_dataset(folder / "data", DOCUMENTS, queries=3)
    lines = [{"id": f"d{i:03}", "weights": {f"w{i}": 0.5, "w7": 0.1}} for i in range(DOCUMENTS)]
    (folder / "small.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    writes = {"model": str(save_tiny_t5(folder / "t5")), "queries": 3, "query_length": 8}
    systems: dict[str, Any] = {
        "appended": {"family": "lexical", "expansion": writes},
        "fielded": {"family": "lexical", "expansion": writes | {"join": "field"}, "k1": 1.2},
        "weighted": {"family": "lexical", "weights": {"model": str(save_deepct(folder / "bert"))}},
        "given": {"family": "lexical", "weights": {"path": f"{folder}/{{dataset}}.jsonl"}},
    }
    own = {"systems": ["appended", "given"], "top_k": 10, "cutoffs": [1, 10], "chunk_documents": 500_000}
    config = config_of(systems, folder / "data", **own)
    workflow = Workflow(folder / "work", config)
    workflow.folder.mkdir()
    name = LexicalSettings("weighted", weights=systems["weighted"]["weights"]).index.expansion  # type: ignore[arg-type]
    targets = (SUMMARY, f"results/expansions/{name}/small/chunk-0.parquet")
    workflow.run(*targets)
    return workflow, workflow.ran()


@pytest.fixture
def changeable(expanded_once: tuple[Workflow, dict[str, int]], tmp_path: Path) -> Workflow:
    """A copy of that run that a test may change."""
    return expanded_once[0].copied(tmp_path / "copy")


def test_a_whole_run(expanded_once: tuple[Workflow, dict[str, int]]) -> None:
    workflow, ran = expanded_once
    once = dict.fromkeys(("prepare_corpus", "write_queries", "weigh_words", "read_given", "summarize"), 1)
    twice = ("fetch_expansion_model", "index_chunk", "sum_statistics", "search_index", "merge_chunks", "evaluate_run")
    assert ran == {**once, **dict.fromkeys(twice, 2)}
    assert len(list(workflow.result("expansions").iterdir())) == 3
    assert not list(workflow.result("expansions").rglob("*.jsonl"))
    assert workflow.read("metrics/appended/small.json")["seconds"]["expand"] > 0


def test_what_is_added_is_shared_and_made_again_where_it_changes(changeable: Workflow) -> None:
    systems = changeable.config["custom"]["systems"]
    after = dict.fromkeys(("search_index", "merge_chunks", "evaluate_run", "summarize"), 1)
    indexed = {"index_chunk": 1, "sum_statistics": 1}
    changeable.config["systems"].append("fielded")
    systems["given"]["k1"] = 1.0
    assert changeable.planned(SUMMARY) == {**indexed, **after, **dict.fromkeys(after, 2), "summarize": 1}
    changeable.config["systems"].remove("fielded")
    del systems["given"]["k1"]
    systems["appended"]["expansion"]["seed"] = 1
    assert changeable.planned(SUMMARY) == {"fetch_expansion_model": 1, "write_queries": 1, **indexed, **after}


def test_a_sparse_system_weighs_documents_with_the_queries_of_a_lexical_one(changeable: Workflow, tmp_path: Path) -> None:
    systems = changeable.config["custom"]["systems"]
    of_unicoil = {"head": "unicoil", "model": str(save_unicoil(tmp_path / "unicoil")), "text_length": 20, "expansion_length": 12}
    systems["unicoil"] = {"family": "sparse", **of_unicoil, "expansion": dict(systems["appended"]["expansion"])}
    changeable.config["systems"].append("unicoil")
    weighed = {"weigh_chunk": 1, "search_weights": 1, "merge_chunks": 1, "evaluate_run": 1, "summarize": 1}
    assert changeable.planned(SUMMARY) == {"fetch_sparse_model": 1, "weigh_queries": 1, **weighed}
    changeable.run(SUMMARY, "results/systems.csv")
    rows = csv.DictReader(changeable.result("systems.csv").open())
    said = {row["setting"]: row["value"] for row in rows if row["system"] == "unicoil"}
    assert {"queries 3", "join inject"} <= set(said["expansion"].split(", "))
    assert (said["text_length"], said["expansion_length"]) == ("20", "12")
    assert int(said["truncated_expansions"]) > 0
    checks = Forger(changeable.result(""), load_experiment(changeable.config)).checks(4)
    assert [check for check in checks if check.status == FAILED] == []
    assert any(check.status == PASSED and check.found.startswith("unicoil on small") for check in checks)
    systems["unicoil"]["expansion"]["seed"] = 1
    assert changeable.planned(SUMMARY) == {"fetch_expansion_model": 1, "write_queries": 1, **weighed}


def failing(workflow: Workflow) -> set[str]:
    """Names of the checks of an audit with a sample that fail."""
    checks = Forger(workflow.result(""), load_experiment(workflow.config)).checks(4)
    return {check.name for check in checks if check.status == FAILED}


def test_the_audit_knows_what_was_added_and_makes_a_sample_again(changeable: Workflow, tmp_path: Path) -> None:
    assert failing(changeable) == set()
    systems = changeable.config["custom"]["systems"]
    other = shutil.copytree(systems["appended"]["expansion"]["model"], tmp_path / "t5")
    model = systems["appended"]["expansion"]["model"]
    systems["appended"]["expansion"]["model"] = str(other)
    assert failing(changeable) == set()  # whose place is part of its name, so that it is not known
    systems["appended"]["expansion"]["model"] = model
    weights = Path(model, "model.safetensors")
    before = weights.read_bytes()
    save_tiny_t5(Path(model), seed=1)
    assert SOURCES in failing(changeable)
    weights.write_bytes(before)
