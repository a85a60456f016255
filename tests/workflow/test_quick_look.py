"""A quick look on a sample of documents and queries, which keeps no representation: one run of BM25 for all tests."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from workflow_runs import Workflow, config_of, tiny_system


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory, small: Path) -> tuple[Workflow, str]:
    """The run and what it printed; not to be changed."""
    custom = {"systems": {"words": {"family": "lexical"}}, "datasets": {"small": {"path": str(small)}}}
    config = {
        "systems": "words",
        "datasets": "small.documents-20",
        "sample_queries": 2,
        "keep_representations": False,
        "custom": custom,
    }
    workflow = Workflow(
        tmp_path_factory.mktemp("look"), config | {"device": "cpu", "chunk_documents": 10, "top_k": 20, "cutoffs": [1, 10]}
    )
    return workflow, workflow.run("summary", "results/cost.csv")  # a name for a file is no job to do


def test_cost_and_audit_need_no_postings(looked: tuple[Workflow, str]) -> None:
    workflow, _ = looked
    assert [path.name for path in workflow.result("postings").rglob("*.arrow")] == []
    (row,) = pd.read_csv(workflow.result("cost.csv")).to_dict("records")
    assert row["index_bytes"] > 0
    workflow.run("audit")
    audit = workflow.read("audit.json")
    assert audit["verdict"] == "passed"
    checks = [check for section in audit["sections"].values() for check in section]
    (deleted,) = [check for check in checks if "keep_representations: false" in check["found"]]
    assert len(deleted["files"]) == 2
    assert "prepare_corpus: 4 files" in {check["found"] for check in checks if check["status"] == "passed"}
    assert "deleted 0 files of representations" in workflow.run("clean_representations")


def test_a_trial_names_the_systems_that_fail_and_those_that_run(small: Path, tiny_bert: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(tiny_bert, tmp_path / "broken")
    (broken / "model.safetensors").write_bytes((tiny_bert / "model.safetensors").read_bytes()[:-1000])
    own = {"words": {"family": "lexical"}, "broken": tiny_system(broken)}
    workflow = Workflow(tmp_path / "try", config_of(own, small, chunk_documents=100))
    workflow.folder.mkdir()
    printed = workflow.run("try", ok=False)
    assert "broken failed; the messages are above. words ran to its scores." in printed
    assert printed.count(f"failed: system broken: the model in {broken} cannot be loaded") == 1
    assert printed.count(" of try with broken failed: for the same reason\n") == 1
    assert (workflow.result("try/metrics/words/try.json")).is_file()
    assert sorted(path.name for path in workflow.result("").iterdir()) == ["logs", "try"]
