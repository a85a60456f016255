"""Where a dataset gives each query its candidates, dense systems rank these, and are measured as others measure re-ranking."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from beirflow.datasets.prepare import prepare_corpus
from beirflow.dense.search import search_chunk
from beirflow.evaluation.evaluate import evaluate_run
from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.records import Job, read_json, write_json, write_record
from beirflow.runs.merge import merge_chunks
from by_name import call
from sentence_transformers.sentence_transformer.evaluation import RerankingEvaluator
from sklearn.metrics import average_precision_score

DIM, CHUNKS = 8, 3


def samples() -> list[dict[str, Any]]:
    """Samples of several lengths; documents of one are candidates of others too."""
    random = np.random.default_rng(7)
    return [
        {
            "query": f"query {i}",
            "positive": [f"text {n}" for n in random.choice(60, random.integers(1, 5), replace=False)],
            "negative": [f"text {n}" for n in 60 + random.choice(60, random.integers(1, 30), replace=False)],
        }
        for i in range(25)
    ]


def vector(text: str) -> np.ndarray:
    """The same for the same text, float32 of shape (DIM,)."""
    seed = int.from_bytes(text.encode(), "little") % (1 << 63)
    return np.random.default_rng(seed).normal(size=DIM).astype(np.float32)


class Encoder:
    """A model as sentence-transformers' evaluators use one."""

    similarity_fn_name = "cosine"

    def encode(self, sentences: list[str], **_: Any) -> torch.Tensor:
        return torch.from_numpy(np.stack([vector(text) for text in sentences]))

    encode_query = encode_document = encode


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """The samples prepared in chunks, with their vectors."""
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples()))
    results, job = tmp_path / "results", Job(tmp_path / "results", "test", "c0de")
    paths = {f"{name}_path": str(results / f"{name}.parquet") for name in ("documents", "queries")}
    call(
        prepare_corpus,
        source_path=str(tmp_path / "s.jsonl"),
        forum=None,
        split="test",
        chunks=CHUNKS,
        expected={"documents": None, "queries": None, "files": {}},
        **paths,
        job=job,
        form={"kind": "samples"},
    )
    write_json(results / "model.json", {})
    documents = pq.ParquetFile(results / "documents.parquet")
    tables = {f"chunk-{i}": documents.read_row_group(i) for i in range(CHUNKS)} | {
        "of-queries": pq.read_table(paths["queries_path"])
    }
    for name, table in tables.items():
        path, source = results / f"{name}.npy", "queries" if name == "of-queries" else "documents"
        np.save(path, np.stack([vector(text) for text in table["text"].to_pylist()]))
        write_record(
            path.with_suffix(".json"),
            job,
            inputs={
                results / f"{source}.parquet": file_digest(results / f"{source}.parquet"),
                results / "model.json": file_digest(results / "model.json"),
            },
            outputs={path: file_digest(path)},
            made={"precision": "float32"},
            system="toy",
            rows=len(table),
        )
    return results


def search(results: Path, top_k: int = 100) -> None:
    for chunk in range(CHUNKS):
        call(
            search_chunk,
            system="toy",
            queries_path=str(results / "queries.parquet"),
            documents_path=str(results / "documents.parquet"),
            model_path=str(results / "model.json"),
            chunk=chunk,
            query_vectors_path=str(results / "of-queries.npy"),
            chunk_vectors_path=str(results / f"chunk-{chunk}.npy"),
            output_path=str(results / f"candidates-{chunk}.npz"),
            similarity="cosine",
            top_k=top_k,
            drop_self_matches=True,
            job=Job(results, "search", "c0de"),
            device="cpu",
        )


def evaluate(results: Path) -> dict[str, float]:
    """The means of the merged run."""
    run, record = results / "run.parquet", results / "run.json"
    sources = {f"{name}_path": str(results / f"{name}.parquet") for name in ("queries", "documents")}
    job = Job(results, "merge", "c0de")
    paths = [str(results / f"candidates-{chunk}.npz") for chunk in range(CHUNKS)]
    call(
        merge_chunks,
        system="toy",
        dataset="s",
        candidate_paths=paths,
        **sources,
        top_k=100,
        run_path=str(run),
        record_path=str(record),
        job=job,
    )
    call(
        evaluate_run,
        system="toy",
        dataset="s",
        run_path=str(run),
        qrels_path=str(results / "qrels.parquet"),
        cutoffs=[10, 100],
        per_query_path=str(results / "per_query.parquet"),
        means_path=str(results / "means.json"),
        job=job,
    )
    return dict(read_json(results / "means.json")["measures"])


def test_means_are_those_of_the_reranking_evaluator_and_of_its_formulas(results: Path) -> None:
    search(results)
    means = evaluate(results)
    theirs = RerankingEvaluator(samples(), at_k=10, write_csv=False).compute_metrics(Encoder())
    assert means["MRR@10"] == pytest.approx(theirs["mrr"], abs=1e-9)
    assert means["MAP@100"] == pytest.approx(theirs["map"], abs=1e-9)
    assert means["NDCG@10"] == pytest.approx(theirs["ndcg"], abs=1e-9)
    precisions = []
    for sample in samples():
        texts = [*sample["positive"], *sample["negative"]]
        query, documents = vector(sample["query"]), np.stack([vector(text) for text in texts])
        scores = documents @ query / np.linalg.norm(documents, axis=1)
        precisions.append(average_precision_score([1] * len(sample["positive"]) + [0] * len(sample["negative"]), scores))
    assert means["MAP@100"] == pytest.approx(np.mean(precisions), abs=1e-9)


def test_a_run_has_the_candidates_of_each_query_and_names_the_judgements(results: Path) -> None:
    search(results)
    evaluate(results)
    run = pq.read_table(results / "run.parquet").to_pandas().groupby("query_id")["doc_id"].agg(set)
    qrels = pq.read_table(results / "qrels.parquet").to_pandas().groupby("query_id")["doc_id"].agg(set)
    assert run.to_dict() == qrels.to_dict()
    assert read_json(results / "run.json")["inputs"]["qrels.parquet"] == file_digest(results / "qrels.parquet")


def test_no_candidate_is_cut_without_a_word(results: Path) -> None:
    most = max(len(sample["positive"]) + len(sample["negative"]) for sample in samples())
    with pytest.raises(DataError, match=f"a query has {most} candidates, all of which are ranked; set 'top_k: {most}' or more"):
        search(results, top_k=most - 1)


def test_vectors_that_are_no_numbers_are_refused(results: Path) -> None:
    path = results / "chunk-1.npy"
    vectors = np.load(path)
    vectors[0, 0] = np.nan
    np.save(path, vectors)
    record = read_json(path.with_suffix(".json"))
    write_json(path.with_suffix(".json"), record | {"outputs": {"chunk-1.npy": file_digest(path)}})
    with pytest.raises(DataError, match="documents' vectors hold infinity or not-a-number"):
        search(results)
