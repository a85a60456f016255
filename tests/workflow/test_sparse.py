"""A sparse system through Snakemake: what is shared between runs, what runs again, and what is refused before anything runs."""

import shutil
from copy import deepcopy
from pathlib import Path

import pytest
from beirflow.files.records import read_json
from faults_at_work import result_files
from tiny_sparse import save_masked_lm
from workflow_runs import Workflow, small_dataset

SUMMARY = "results/summary.csv"
CHUNKS = 3


@pytest.fixture(scope="session")
def sparse_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workflow, dict[str, int]]:
    """A whole run, and the jobs that it planned; not to be changed."""
    folder = tmp_path_factory.mktemp("sparse")
    small_dataset(folder / "data", 30, queries=5)
    config = {
        "systems": ["splade"],
        "datasets": ["small"],
        "precision": "float32",
        "device": "cpu",
        "chunk_documents": 10,
        "top_k": 20,
        "cutoffs": [1, 10, 20],
        "audit_sample": 5,
        "custom": {
            "systems": {"splade": {"family": "sparse", "model": str(save_masked_lm(folder / "model")), "quantize": "lucene"}},
            "datasets": {"small": {"path": str(folder / "data")}},
        },
    }
    workflow = Workflow(folder / "work", config)
    workflow.folder.mkdir()
    planned = workflow.planned(SUMMARY)
    workflow.run(SUMMARY)
    return workflow, planned


@pytest.fixture
def changeable(sparse_once: tuple[Workflow, dict[str, int]], tmp_path: Path) -> Workflow:
    """A copy of that run that a test may change."""
    shutil.copytree(sparse_once[0].folder, tmp_path / "copy")
    return Workflow(tmp_path / "copy", deepcopy(sparse_once[0].config))


def test_a_whole_run(sparse_once: tuple[Workflow, dict[str, int]]) -> None:
    workflow, planned = sparse_once
    assert planned == {
        "fetch_sparse_model": 1,
        "prepare_corpus": 1,
        "weigh_queries": 1,
        "weigh_chunk": CHUNKS,
        "search_weights": CHUNKS,
        "merge_chunks": 1,
        "evaluate_run": 1,
        "summarize": 1,
    }
    names = {f"weights-{i}" for i in range(CHUNKS)} | {"queries"}
    found = sorted(path.name for path in workflow.result("postings/splade/small").iterdir())
    assert found == sorted(f"{name}.{kind}" for name in names for kind in ("arrow", "json"))
    assert not list(workflow.result("candidates").rglob("*.npz"))
    assert workflow.planned(SUMMARY) == {}


def test_changes_run_again_what_they_change(changeable: Workflow) -> None:
    system = changeable.config["custom"]["systems"]["splade"]
    after_search = {"search_weights": CHUNKS, "merge_chunks": 1, "evaluate_run": 1, "summarize": 1}
    system["ties"] = "ascending"
    assert changeable.planned(SUMMARY) == after_search
    del system["ties"]
    system["query_prefix"] = "w1 "
    assert changeable.planned(SUMMARY) == {"weigh_queries": 1, **after_search}
    del system["query_prefix"]
    system["document_prefix"] = "w1 "
    assert changeable.planned(SUMMARY) == {"weigh_chunk": CHUNKS, **after_search}


def test_the_number_of_chunks_changes_no_byte_of_the_run(changeable: Workflow) -> None:
    run = changeable.result("runs/splade/small.parquet")
    expected = run.read_bytes()
    changeable.config["chunk_documents"] = 1000
    run.unlink()
    changeable.run("results/runs/splade/small.parquet", cores=1)
    assert run.read_bytes() == expected
    assert read_json(run.with_suffix(".json"))["counts"]["terms_of_documents"] > 0


def test_the_audit_makes_a_sample_again(changeable: Workflow) -> None:
    assert "The audit of results passed" in changeable.run("audit")
    page = changeable.result("audit.html").read_text()
    for what in ("documents weighed again", "queries weighed again", "queries searched again", "models are those that were used"):
        assert what in page.casefold()


def test_what_cannot_be_used_is_said_before_anything_runs(changeable: Workflow) -> None:
    before = result_files(changeable.result("")).keys()
    system = changeable.config["custom"]["systems"]["splade"]
    system["pooling"] = "maxx"
    assert "splade.pooling: found 'maxx'; allowed are max, sum; did you mean 'max'?" in changeable.run(SUMMARY, ok=False)
    del system["pooling"]
    system["model"] = "/nowhere"
    assert "splade.model: found '/nowhere'; nothing is there" in changeable.run(SUMMARY, ok=False)
    assert result_files(changeable.result("")).keys() == before
