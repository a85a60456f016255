"""BM25 through Snakemake: what is shared, what runs again, and everything that follows the run."""

import os
import shutil
from pathlib import Path

import pytest

from beir_writer import write_beir
from workflow_runs import Workflow, config_of, words

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
