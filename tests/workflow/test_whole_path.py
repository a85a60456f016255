"""From JSONL files to summary.csv."""

import gzip
import sys

import numpy as np
import pandas as pd
import pytest

from beir_writer import write_beir, zip_folder
from warm_snakemake import SECONDS
from workflow_runs import Workflow, dataset_config, small_dataset, words


def test_a_run_makes_the_summary_and_a_second_run_has_nothing_to_do(finished_once: tuple[Workflow, str]) -> None:
    workflow, output = finished_once
    summary = pd.read_csv(workflow.result("summary.csv"))
    metrics = workflow.read("metrics/tiny/small.json")
    assert list(summary["dataset"]) == ["small"]
    assert summary["documents"][0] == 30
    assert summary["queries"][0] == 4
    assert summary["NDCG@10"][0] == metrics["measures"]["NDCG@10"]
    assert f"{metrics['measures']['NDCG@10']:.4f}" in output
    assert metrics["counts"]["retrieved"] == 4 * 20
    assert not list(workflow.result("candidates").rglob("chunk-*"))
    assert workflow.planned("results/summary.csv") == workflow.planned("summary") == {}
    assert len(list(workflow.result("logs/encode_chunk/tiny/small").glob("*.log"))) == 3
    assert len(list(workflow.result("benchmarks/encode_chunk/tiny/small").glob("*.tsv"))) == 3


@pytest.mark.parametrize("name", ["manifest.json", "metrics/tiny/small.parquet"])
def test_a_final_file_that_was_deleted_is_made_again(finished: Workflow, name: str) -> None:
    before = finished.result(name).read_bytes()
    finished.result(name).unlink()
    finished.run("summary")
    after = finished.result(name).read_bytes()
    assert after == before or name == "manifest.json"  # which has the time when it was written
    assert finished.planned("summary") == {}


def test_the_run_is_what_a_brute_force_over_the_stored_vectors_gives(finished: Workflow) -> None:
    finished.run("results/runs/tiny/small.trec.gz")
    folder = finished.result("embeddings/tiny/small")
    queries = np.load(folder / "queries.npy").astype(np.float64)
    vectors = np.concatenate([np.load(folder / f"chunk-{chunk}.npy") for chunk in range(3)])
    ids = pd.read_parquet(finished.result("corpora/small/documents.parquet"))["doc_id"]
    scores = (queries @ vectors.astype(np.float64).T).astype(np.float32)
    expected = []
    for query, row in enumerate(scores):
        ranked = sorted(zip(row.tolist(), ids, strict=True), reverse=True)[:20]
        expected += [f"q{query} Q0 {doc_id} {rank} {score:.9g} tiny\n" for rank, (score, doc_id) in enumerate(ranked, 1)]
    with gzip.open(finished.result("runs/tiny/small.trec.gz"), "rt") as lines:
        assert list(lines) == expected


def test_an_archive_of_several_forums_gives_the_macro_mean(lexical: Workflow) -> None:
    workflow = lexical
    for forum, documents in (("android", 12), ("tex", 25)):
        small_dataset(workflow.folder / f"data/stack/{forum}", documents)
    archive = zip_folder(workflow.folder / "data/stack", workflow.folder / "archives/stack.zip")
    workflow.config |= dataset_config(workflow, stack={"path": str(archive), "forums": ["android", "tex"]}) | {
        "chunk_documents": 100
    }
    workflow.run("results/summary.csv")
    summary = pd.read_csv(workflow.result("summary.csv"))
    metrics = [workflow.read(f"metrics/tiny/stack-{forum}.json") for forum in ("android", "tex")]
    android, tex = (part["measures"]["NDCG@10"] for part in metrics)
    assert list(summary["dataset"]) == ["stack"]
    assert summary["documents"][0] == 12 + 25
    assert android != tex
    stack = workflow.read("metrics/tiny/stack.json")
    assert stack["measures"]["NDCG@10"] == summary["NDCG@10"][0]
    assert summary["NDCG@10"][0] == pytest.approx((android + tex) / 2, abs=1e-12)


def test_one_query_and_one_document_and_a_top_k_above_the_corpus(finished: Workflow) -> None:
    one = write_beir(finished.folder / "data/one", {"d": words(1, 5)}, {"q": words(2, 3)}, {"q": {"d": 1}})
    finished.config |= dataset_config(finished, one={"path": str(one)}, small=finished.config["custom"]["datasets"]["small"])
    finished.config |= {"top_k": 1000, "cutoffs": [1, 10, 1000]}
    assert "encode_chunk" not in finished.planned("results/metrics/tiny/small.json")
    finished.run("results/summary.csv")
    single, small = (finished.read(f"metrics/tiny/{name}.json") for name in ("one", "small"))
    assert single["measures"]["NDCG@10"] == 1.0
    assert single["counts"]["retrieved"] == 1
    assert small["counts"]["retrieved"] == 4 * 30
    assert small["measures"]["Recall@1000"] == 1.0
    summary = pd.read_csv(finished.result("summary.csv")).set_index("dataset")
    mean = (single["measures"]["NDCG@10"] + small["measures"]["NDCG@10"]) / 2
    assert summary.loc["mean of 2 (one, small)", "NDCG@10"] == pytest.approx(mean, abs=1e-12)


@pytest.mark.skipif(sys.platform != "linux", reason="runs that are forked say how long they took, on Linux alone")
def test_the_default_configuration_shows_the_whole_dag_before_anything_is_downloaded(workflow: Workflow) -> None:
    seconds = workflow.folder / "seconds"
    workflow.environment = {SECONDS: str(seconds)}
    workflow.planned("results/summary.csv")
    tiny = float(seconds.read_text())
    workflow.config = {}
    jobs = workflow.planned("results/summary.csv")
    whole = float(seconds.read_text())
    assert whole < 12 * tiny  # 299 jobs and 9
    assert jobs["download_dataset"] == 15
    assert jobs["prepare_corpus"] == jobs["evaluate_run"] == 14 + 12
    assert jobs["encode_chunk"] == 88
    assert jobs["average_forums"] == 1
    assert not (workflow.folder / "results").exists()
    assert workflow.planned("results/metrics/contriever/scifact.json")["encode_chunk"] == 1
