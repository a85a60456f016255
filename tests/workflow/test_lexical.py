"""BM25 through Snakemake: what is shared, what runs again, and everything that follows the run."""

import csv
import os
import shutil
from pathlib import Path

import pytest

from beir_writer import write_beir
from faults_at_work import result_files, unfinished
from workflow_runs import Workflow, config_of, dataset_config, words

SUMMARY = "results/summary.csv"
CHUNKS = 3
QUERIES = 4

REFUSES = "raise ImportError('no job of a lexical system needs this module')\n"


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty documents, one of them empty and one with a title alone; and a judged query of stop words."""
    documents = {f"d{i:02}": {"title": words(i, i % 3), "text": words(100 + i, 4 + i % 9)} for i in range(28)}
    documents |= {"empty": {"title": "", "text": ""}, "title": {"title": words(5, 4), "text": " "}}
    queries = {f"q{i}": f"{words(i, 2)} {words(100 + i, 4)}" for i in range(QUERIES - 1)} | {"stop": "to be, or not to be"}
    judgements = {query: {f"d{i:02}": 2, f"d{i + 5:02}": 1} for i, query in enumerate(queries)}
    return write_beir(tmp_path_factory.mktemp("texts"), documents, queries, judgements)


def configured(folder: Path, texts: Path, *systems: str) -> Workflow:
    own = {"mine": {"family": "lexical", "k1": 1.2, "b": 0.75}}
    return Workflow(folder, config_of(own, texts, systems=list(systems)))


@pytest.fixture(scope="session")
def two_variants(tmp_path_factory: pytest.TempPathFactory, texts: Path) -> tuple[Workflow, dict[str, int]]:
    """Two variants after a whole run, and its jobs by rule."""
    workflow = configured(tmp_path_factory.mktemp("variants"), texts, "bm25", "mine")
    workflow.run(SUMMARY)
    return workflow, workflow.ran()


@pytest.fixture
def changeable(two_variants: tuple[Workflow, dict[str, int]], tmp_path: Path) -> Workflow:
    """A copy of that run that a test may change."""
    return two_variants[0].copied(tmp_path / "copy")


def times(folder: Path) -> dict[str, int]:
    return {name: path.stat().st_mtime_ns for name, path in result_files(folder).items()}


def test_two_variants_share_one_analysis(two_variants: tuple[Workflow, dict[str, int]]) -> None:
    workflow, ran = two_variants
    assert ran == {
        "prepare_corpus": 1,
        "index_chunk": CHUNKS,
        "sum_statistics": 1,
        "search_index": 2 * CHUNKS,
        "merge_chunks": 2,
        "evaluate_run": 2,
        "summarize": 1,
    }
    assert sorted(path.name for path in workflow.result("postings/lucene-english/small").glob("*")) == sorted(
        [f"chunk-{i}.{kind}" for i in range(CHUNKS) for kind in ("arrow", "json")] + ["statistics.json", "statistics.parquet"]
    )
    assert [path.name for path in workflow.result("postings").iterdir()] == ["lucene-english"]
    assert not list(workflow.result("candidates").rglob("chunk-*"))
    runs = [workflow.read(f"runs/{system}/small.json") for system in ("bm25", "mine")]
    assert runs[0]["inputs"] == runs[1]["inputs"]
    assert runs[0]["outputs"] != runs[1]["outputs"]
    assert workflow.planned(SUMMARY) == {}


def test_no_job_needs_torch_and_the_number_of_chunks_changes_no_byte_of_the_run(
    changeable: Workflow, two_variants: tuple[Workflow, dict[str, int]], tmp_path: Path
) -> None:
    """In an environment of their own jobs import what they need themselves."""
    for name in ("torch", "transformers"):
        (tmp_path / f"{name}.py").write_text(REFUSES)
    changeable.environment = {"PYTHONPATH": os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))}
    changeable.config |= {"systems": ["bm25"], "chunk_documents": 1000}
    shutil.rmtree(changeable.result(""))
    changeable.run(SUMMARY)
    run = "runs/bm25/small.parquet"
    assert changeable.result(run).read_bytes() == two_variants[0].result(run).read_bytes()
    assert len(changeable.read("runs/bm25/small.json")["inputs"]) == 2 + 4  # one chunk, with its statistics


def test_a_change_of_k1_searches_again_and_analyses_nothing(changeable: Workflow) -> None:
    before = times(changeable.result(""))
    run = changeable.result("runs/mine/small.parquet").read_bytes()
    changeable.config["custom"]["systems"]["mine"]["k1"] = 0.3
    again = {"search_index": CHUNKS, "merge_chunks": 1, "evaluate_run": 1, "summarize": 1}
    assert changeable.planned(SUMMARY) == again
    changeable.run(SUMMARY)
    after = times(changeable.result(""))
    changed = {name for name, time in after.items() if time != before[name]}
    of_mine = {"runs/mine/small.parquet", "runs/mine/small.json", "metrics/mine/small.parquet", "metrics/mine/small.json"}
    assert changed == of_mine | {"summary.csv", "manifest.json"}
    assert changeable.result("runs/mine/small.parquet").read_bytes() != run
    changeable.config["custom"]["systems"]["mine"]["ties"] = "descending"
    assert changeable.planned(SUMMARY) == again


def test_the_summary_and_the_metrics_count_what_bm25_cannot_find(two_variants: tuple[Workflow, dict[str, int]]) -> None:
    workflow, _ = two_variants
    rows = list(csv.DictReader(workflow.result("summary.csv").open(encoding="utf-8")))
    metrics = workflow.read("metrics/bm25/small.json")
    assert [(row["system"], row["dataset"]) for row in rows] == [("bm25", "small"), ("mine", "small")]
    assert float(rows[0]["NDCG@10"]) == metrics["measures"]["NDCG@10"] > 0
    counts = {name: metrics["counts"][name] for name in ("documents", "queries", "queries_without_results")}
    assert counts == {"documents": 30, "queries": QUERIES, "queries_without_results": 1}
    assert metrics["counts"]["documents_without_text"] == 2
    assert metrics["counts"]["documents_without_contents"] == 1


def test_a_corpus_of_empty_texts_is_an_error_and_leaves_nothing_half_written(texts: Path, tmp_path: Path) -> None:
    empty = write_beir(tmp_path / "empty", {f"d{i}": " " for i in range(4)}, {"q": "one"}, {"q": {"d0": 1}})
    workflow = configured(tmp_path, texts, "bm25")
    workflow.config |= dataset_config(workflow, small={"path": str(empty)})
    output = workflow.run(SUMMARY, ok=False)
    assert "ERROR: none of the 4 documents has a term in contents; nothing can be found" in output
    assert unfinished(workflow.result("")) == []
    assert {path.split("/")[0] for path in result_files(workflow.result(""))} == {"corpora", "postings"}
