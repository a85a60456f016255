"""BM25 through Snakemake: what is shared, what runs again, what a kill leaves, and everything that follows the run."""

import csv
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from beir_writer import write_beir
from faults_at_work import jobs, printed, result_files, results, start, unfinished, unlock, wait_until
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
    """Two variants after a whole run, and the jobs that it planned."""
    workflow = configured(tmp_path_factory.mktemp("variants"), texts, "bm25", "mine")
    planned = workflow.planned(SUMMARY)
    workflow.run(SUMMARY)
    return workflow, planned


@pytest.fixture
def changeable(two_variants: tuple[Workflow, dict[str, int]], tmp_path: Path) -> Workflow:
    """A copy of that run that a test may change."""
    return two_variants[0].copied(tmp_path / "copy")


def times(folder: Path) -> dict[str, int]:
    return {name: path.stat().st_mtime_ns for name, path in result_files(folder).items()}


def test_two_variants_share_one_analysis(two_variants: tuple[Workflow, dict[str, int]]) -> None:
    workflow, planned = two_variants
    assert planned == {
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
    assert not list(workflow.result("candidates").rglob("*.npz"))
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


@pytest.mark.skipif(sys.platform != "linux", reason="a job ends with its Snakemake on Linux alone")
@pytest.mark.long
def test_a_kill_in_the_middle_changes_no_result_and_leaves_nothing(
    two_variants: tuple[Workflow, dict[str, int]], texts: Path, tmp_path: Path
) -> None:
    workflow = configured(tmp_path, texts, "bm25", "mine")
    postings = workflow.result("postings/lucene-english/small")
    process = start(workflow, SUMMARY, cores=1)
    assert wait_until(lambda: list(postings.glob("chunk-*.json")), process), printed(workflow)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert wait_until(lambda: not jobs(workflow)), "a job does not end"
    assert not workflow.result("postings/lucene-english/small/statistics.json").exists()
    unlock(workflow)
    workflow.run(SUMMARY)
    assert unfinished(workflow.result("")) == []
    expected = two_variants[0].result("")
    for system in ("bm25", "mine"):
        run = f"runs/{system}/small.parquet"
        assert workflow.result(run).read_bytes() == (expected / run).read_bytes()
    assert results(workflow.result("")) == results(expected)


def test_everything_that_follows_a_run_serves_bm25_alone(changeable: Workflow) -> None:
    workflow = changeable
    workflow.config["systems"] = ["bm25"]
    for folder in ("runs", "metrics"):
        shutil.rmtree(workflow.result(f"{folder}/mine"))
    workflow.run(SUMMARY, "results/report.html")
    (row,) = csv.DictReader(workflow.result("summary.csv").open(encoding="utf-8"))
    metrics = workflow.read("metrics/bm25/small.json")
    assert (row["system"], row["dataset"]) == ("bm25", "small")
    assert float(row["NDCG@10"]) == metrics["measures"]["NDCG@10"] > 0
    counts = {name: metrics["counts"][name] for name in ("documents", "queries", "queries_without_results")}
    assert counts == {"documents": 30, "queries": QUERIES, "queries_without_results": 1}
    assert metrics["counts"]["documents_without_text"] == 2
    assert metrics["counts"]["documents_without_contents"] == 1
    report = workflow.result("report.html").read_text(encoding="utf-8")
    for said in ("bm25", "lexical", "lucene-english", "ascending"):
        assert said in report, said
    workflow.config |= {"audit_sample": 1000}
    output = workflow.run("audit", cores=1)
    assert "The audit of results passed" in output
    sections = workflow.read("audit.json")["sections"]
    assert [(check["status"], check["found"].partition(":")[0]) for check in sections["sample"]] == [
        ("passed", "bm25 on small")
    ] * 3
    shutil.rmtree(workflow.result("postings"))
    workflow.run("audit", cores=1)
    sections = workflow.read("audit.json")["sections"]
    assert {check["status"] for check in sections["sample"]} == {"not checked"}
    assert all("is not here" in check["found"] for check in sections["sample"])


def test_other_postings_are_found_by_the_sample_and_by_the_digests(changeable: Workflow) -> None:
    path = changeable.result("postings/lucene-english/small/chunk-1.arrow")
    shutil.copy(changeable.result("postings/lucene-english/small/chunk-0.arrow"), path)
    changeable.config |= {"audit_sample": 1000}
    output = changeable.run("audit", cores=1, ok=False)
    assert "Numbers of the summary that are affected: bm25 on small, mine on small." in output
    sections = changeable.read("audit.json")["sections"]
    assert {check["name"] for check in sections["sample"] if check["status"] == "failed"} == {
        "documents analysed again have the stored postings",
        "statistics added up again are those of the postings",
        "queries searched again have the recorded ranks",
    }
    assert "postings/lucene-english/small/chunk-1.arrow" in output


def test_a_corpus_of_empty_texts_is_an_error_and_leaves_nothing_half_written(texts: Path, tmp_path: Path) -> None:
    empty = write_beir(tmp_path / "empty", {f"d{i}": " " for i in range(4)}, {"q": "one"}, {"q": {"d0": 1}})
    workflow = configured(tmp_path, texts, "bm25")
    workflow.config |= dataset_config(workflow, small={"path": str(empty)})
    output = workflow.run(SUMMARY, ok=False)
    assert "ERROR: system bm25: none of the 4 documents has a term in contents; nothing can be found" in output
    assert unfinished(workflow.result("")) == []
    assert {path.split("/")[0] for path in result_files(workflow.result(""))} == {"corpora", "postings"}


def test_settings_that_mean_nothing_stop_before_any_job(texts: Path, tmp_path: Path) -> None:
    workflow = configured(tmp_path, texts, "mine")
    workflow.config["custom"]["systems"]["mine"] = {"family": "lexical", "k1": -1, "analyser": "lucene-english"}
    output = workflow.run(SUMMARY, ok=False)
    assert "custom.systems.mine.k1: found -1" in output
    assert "custom.systems.mine.analyser: found 'analyser'; no such key here" in output
    assert "did you mean 'analyzer'?" in output
    assert not workflow.result("").exists()
