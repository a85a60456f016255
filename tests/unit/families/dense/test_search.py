"""A chunk is searched in the vectors that were recorded, and its candidates say in which.

Where a dataset gives each query its candidates, only these are ranked, and measured as others measure re-ranking.
"""

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from sentence_transformers.sentence_transformer.evaluation import RerankingEvaluator
from sklearn.metrics import average_precision_score

import steps
from beir_writer import write_corpus_record
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.layout import QRELS, RUN_RECORD, record_of
from beirflow.core.records import Job, read_json, write_json, write_record
from beirflow.families.dense import search
from beirflow.families.dense.ranges import find_ranges
from beirflow.families.dense.vectors import Vectors
from beirflow.models.settings import EncoderSettings
from beirflow.ranking.candidates import Candidates
from beirflow.run.hardware import Hardware
from model_results import VectorResults


@pytest.fixture
def chunk(tmp_path: Path) -> dict[str, Any]:
    """Arguments to search the second of two chunks; d4, which is also a query, stands in it, d1 does not."""
    ids, query_ids = [f"d{i}" for i in range(8)], ["d1", "d4", "q"]
    pq.write_table(pa.table({"query_id": query_ids}), tmp_path / "queries.parquet")
    pq.write_table(pa.table({"doc_id": ids}), tmp_path / "documents.parquet", row_group_size=3)
    write_corpus_record(tmp_path)
    write_record(tmp_path / "model.json", Job(tmp_path), inputs={}, outputs={})
    for name, vectors in (("queries", np.ones((3, 4))), ("chunk", np.ones((3, 4)) * [[1], [3], [2]])):
        store(tmp_path / f"{name}.npy", vectors)
    names = {"model": "model.json", "query_vectors": "queries.npy", "chunk_vectors": "chunk.npy"}
    paths = names | {"queries": "queries.parquet", "documents": "documents.parquet"}
    files = {name: str(tmp_path / file) for name, file in paths.items()}
    return files | {"chunk": 1, "similarity": "dot", "top_k": 2, "drop_self_matches": True, "device": "cpu"}


def found_in(folder: Path) -> Path:
    """The candidates of the chunk."""
    return folder / "found/chunk-1.arrow"


def run(arguments: dict[str, Any]) -> Candidates:
    """Search a chunk; gives the candidates."""
    folder = Path(arguments["model"]).parent
    path = found_in(folder)
    steps.run(search.search_chunk, Job(folder, "search_chunk/toy", "c0de"), [str(path), str(record_of(path))], **arguments)
    return Candidates(path)


SOURCES = {"queries.npy": "queries.parquet", "chunk.npy": "documents.parquet"}


def store(path: Path, vectors: np.ndarray) -> None:
    """Write vectors as made from the model and a table in their folder."""
    inputs = {name: file_digest(path.with_name(name)) for name in ("model.json", SOURCES[path.name])}
    facts = {"made": {"precision": "float32", "device": "cpu"}, "seconds": {"load": 1.0}, "counts": {"tokens": 5}}
    facts |= {"sizes": {"index": 128 + 4 * vectors.size}, "system": "toy", "rows": len(vectors)}
    job = Job(path.parent, f"encode/{path.stem}")
    steps.write_recorded(Vectors, path, (len(vectors), [vectors.astype(np.float32)]), job, inputs=inputs, **facts)


def refused(arguments: dict[str, Any]) -> str:
    """The message of a refused search, which writes nothing."""
    with pytest.raises(DataError) as caught:
        run(arguments)
    assert not list(found_in(Path(arguments["model"]).parent).parent.glob("*"))
    return str(caught.value)


@pytest.mark.parametrize(("drop", "dropped", "of_d4"), [(True, 1, [(2, 8.0), (0, 4.0)]), (False, 0, [(1, 12.0), (2, 8.0)])])
def test_self_matches_are_dropped_before_the_cut_and_counted(
    chunk: dict[str, Any], drop: bool, dropped: int, of_d4: list[tuple[int, float]]
) -> None:
    found = run(chunk | {"drop_self_matches": drop})
    hits = list(zip(*(column.tolist() for column in found.read()), strict=True))
    assert found.record["counts"] == {"self_matches_dropped": dropped}
    others = [(1, 12.0), (2, 8.0)]
    assert hits == [(q, *hit) for q, of_query in enumerate([others, of_d4, others]) for hit in of_query]


def test_nothing_looks_for_a_gpu_before_the_search_has_one(chunk: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA would choose the first, and see all of them, whichever is free."""
    events: list[str] = []

    @contextmanager
    def lease(*_: object) -> Iterator[None]:
        events.append("lease")
        yield

    monkeypatch.setattr(Hardware, "gpu", lease)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: bool(events.append("look")))
    run(chunk | {"device": "auto"})
    assert events[:2] == ["lease", "look"]


def test_candidates_say_what_they_were_found_in_by_which_job(chunk: dict[str, Any], tmp_path: Path) -> None:
    found = run(chunk)
    found.check()
    assert [found.record[key] for key in ("top_k", "ties", "made")] == [2, "descending", {}]
    assert (found.record["job"], found.record["code"]) == ("search_chunk/toy", "c0de")
    assert 0 < found.record["seconds"]["search"] < 60
    read = ["model.json", "queries.parquet", "documents.parquet", "queries.npy", "queries.json", "chunk.npy", "chunk.json"]
    assert found.record["inputs"] == {name: file_digest(tmp_path / name) for name in read}
    shared = {"made": {"precision": "float32", "device": "cpu"}, "seconds": {"load": 1.0}, "counts": {"tokens": 5}}
    assert found.record["sources"] == {
        f"{name}.json": {**shared, "bytes": {"index": (tmp_path / f"{name}.npy").stat().st_size}, "job": f"encode/{name}"}
        for name in ("queries", "chunk")
    }


def test_queries_and_documents_of_two_precisions_are_refused(chunk: dict[str, Any], tmp_path: Path) -> None:
    held = read_json(tmp_path / "chunk.json")
    write_json(tmp_path / "chunk.json", held | {"made": {**held["made"], "precision": "bfloat16"}})
    message = refused(chunk)
    assert message.startswith(f"{tmp_path / 'chunk.npy'} has precision bfloat16, but {tmp_path / 'queries.npy'} has float32; ")
    assert message.endswith(f"set one precision in the configuration, or remove one and encode again: rm {tmp_path}/*")


def a_variant(chunk: dict[str, Any], **how: Any) -> dict[str, Any]:
    """Arguments to search the same vectors as a variant, with the ranges of the chunk."""
    folder = Path(chunk["model"]).parent
    ranges = folder / "ranges-all.npy"
    inputs = {name: chunk[name] for name in ("documents", "model", "similarity")} | {"chunk_vectors": [chunk["chunk_vectors"]]}
    outputs = [str(ranges), str(record_of(ranges))]
    steps.run(find_ranges, Job(folder, "find_ranges/toy", "c0de"), outputs, system="toy", dimensions=None, **inputs)
    return chunk | {"variant_of": "toy", "vectors": "int8", "ranges": str(ranges)} | how


def test_a_variant_searches_the_vectors_of_another_system_compressed(chunk: dict[str, Any], tmp_path: Path) -> None:
    """Of each dimension 1 is the least value, -128, and 3 the largest, 127; 2 lies in step 127 of 0 to 255."""
    found = run(a_variant(chunk))
    query, row, score = found.read()
    assert found.record["made"] == {"vectors": "int8", "dimensions": "4"}
    assert set(found.record["inputs"]) > {
        "ranges-all.npy",
        "ranges-all.json",
        "chunk.npy",
        "chunk.json",
        "queries.npy",
        "model.json",
    }
    sizes = {name: source["bytes"] for name, source in found.record["sources"].items()}
    assert sizes["chunk.json"] == {"index": 3 * 4}
    assert sizes["queries.json"] == {"queries": 3 * 4}
    assert sizes["ranges-all.json"] == {"index": (tmp_path / "ranges-all.npy").stat().st_size}
    of_q = query == 2
    assert list(zip(row[of_q].tolist(), score[of_q].tolist(), strict=True)) == [(0, 4.0 * 128 * 128), (2, 4.0 * 128)]


def test_ranges_of_other_vectors_or_for_another_similarity_are_refused(chunk: dict[str, Any], tmp_path: Path) -> None:
    arguments = a_variant(chunk)
    assert "it was made from the similarity dot, but cosine is used here" in refused(arguments | {"similarity": "cosine"})
    store(tmp_path / "chunk.npy", np.ones((3, 4)) * [[1], [4], [2]])
    assert refused(arguments).startswith(f"{tmp_path / 'ranges-all.json'}: it was made from the chunk.npy ")


DIM = 8


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


TOY = EncoderSettings("toy", encoder="seeded:Seeded")
SEEDED = f"""
import numpy as np

DIM = {DIM}

{inspect.getsource(vector)}

class Seeded:
    def encode_query(self, texts):
        return np.stack([vector(text) for text in texts])

    encode_document = encode_query
"""


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VectorResults:
    """The samples prepared in chunks, with their vectors."""
    (tmp_path / "seeded.py").write_text(SEEDED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "seeded", raising=False)
    return VectorResults.of_samples(tmp_path, samples(), 100).make_all(TOY)


def test_means_are_those_of_the_reranking_evaluator_and_of_its_formulas(results: VectorResults) -> None:
    run = pq.read_table(results.find_all(TOY)).to_pandas().groupby("query_id")["doc_id"].agg(set)
    qrels = pq.read_table(results.path(QRELS)).to_pandas().groupby("query_id")["doc_id"].agg(set)
    assert run.to_dict() == qrels.to_dict()
    assert results.record(RUN_RECORD, system="toy")["inputs"].items() >= results.digests(results.path(QRELS)).items()
    means = results.evaluate("toy", (10, 100))["measures"]
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


def test_no_candidate_is_cut_without_a_word(results: VectorResults) -> None:
    most = max(len(sample["positive"]) + len(sample["negative"]) for sample in samples())
    results.top_k = most - 1
    with pytest.raises(DataError, match=f"a query has {most} candidates, all of which are ranked; set 'top_k: {most}' or more"):
        results.find(TOY)


def test_vectors_that_are_no_numbers_are_refused(results: VectorResults) -> None:
    path = Path(results.place("toy", 1))
    vectors, held = np.load(path), read_json(record_of(path))
    vectors[0, 0] = np.nan
    np.save(path, vectors)
    write_json(record_of(path), held | {"outputs": results.digests(str(path))})
    with pytest.raises(DataError, match="documents' vectors hold infinity or not-a-number"):
        results.find(TOY, 1)
