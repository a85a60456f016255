"""Stored vectors are those of sentence-transformers, and searched exactly; ranges are those of the whole corpus."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import steps
from beir_writer import write_corpus_record
from beirflow.core.digests import file_digest
from beirflow.core.errors import ConfigError, DataError
from beirflow.core.records import Job, write_record
from beirflow.families.dense import ranges as module
from beirflow.families.dense.compression import Compression
from beirflow.families.dense.ranges import Ranges, find_ranges
from beirflow.families.dense.top_k import exact_top_k
from beirflow.ranking.ranking import Cut, byte_order
from pairs import pairs

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    quantization = pytest.importorskip("sentence_transformers.util.quantization", reason="the definition to compare with")

DIM = 24
RNG = np.random.default_rng(0)
DOCUMENTS = (RNG.standard_normal((300, DIM)) * RNG.uniform(0.1, 3, DIM)).astype(np.float32)
DOCUMENTS[:, 5] = 0.25
DOCUMENTS[100:150] = DOCUMENTS[:50]
QUERIES = (2 * RNG.standard_normal((20, DIM))).astype(np.float32)
IDS = pa.array([f"d{number}" for number in RNG.permutation(300)])


def ranges_of(documents: np.ndarray) -> np.ndarray:
    return np.stack([documents.min(axis=0), documents.max(axis=0)])


def shortened(vectors: np.ndarray, dimensions: int | None, cosine: bool) -> np.ndarray:
    """As ``truncate_dim`` and ``normalize_embeddings`` of sentence-transformers."""
    kept = torch.from_numpy(vectors[:, :dimensions])
    return (torch.nn.functional.normalize(kept.double(), dim=1).float() if cosine else kept).numpy()


def by_sentence_transformers(vectors: np.ndarray, how: str, ranges: np.ndarray) -> np.ndarray:
    """The numbers that it stores; bits as 1 and -1."""
    if how in ("float16", "float32"):
        return vectors.astype(how)
    if how == "int8":
        return quantization.quantize_embeddings(vectors, "int8", ranges=ranges)
    bits = np.unpackbits(quantization.quantize_embeddings(vectors, "ubinary"), axis=1, count=vectors.shape[1])
    return np.where(bits, 1, -1)


def compression(how: str, dimensions: int | None, cosine: bool) -> Compression:
    return Compression(how, dimensions, cosine, ranges_of(shortened(DOCUMENTS, dimensions, cosine)) if how == "int8" else None)


@pytest.mark.parametrize(
    ("cosine", "dimensions", "how"), pairs([False, True], [None, 1, 7, DIM], ["float32", "float16", "int8", "binary"])
)
def test_what_is_stored_is_what_sentence_transformers_stores(how: str, dimensions: int | None, cosine: bool) -> None:
    """Of documents, and of queries, which reach beyond the ranges of the corpus."""
    ranges = ranges_of(shortened(DOCUMENTS, dimensions, cosine))
    for vectors in (DOCUMENTS, QUERIES):
        kept = shortened(vectors, dimensions, cosine)
        found = compression(how, dimensions, cosine).compressed(vectors)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, by_sentence_transformers(kept, how, ranges))
    if how == "int8" and dimensions != 1:
        assert (found.min(), found.max()) == (-128, 127)


@pytest.mark.parametrize(
    ("cosine", "dimensions", "how"), pairs([False, True], [None, 7], ["float32", "float16", "int8", "binary"])
)
def test_the_search_is_that_of_brute_force_over_what_is_stored(how: str, dimensions: int | None, cosine: bool) -> None:
    way = compression(how, dimensions, cosine)
    queries, documents = (way.compressed(vectors) for vectors in (QUERIES, DOCUMENTS))
    cut = Cut(30, byte_order(IDS), np.full(20, -1))
    found = exact_top_k(queries, documents, cut, similarity=way.similarity, device=torch.device("cpu"))
    exact = [vectors.astype(np.float64) for vectors in (queries, documents)]
    if cosine and how != "binary":
        exact = [vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-60) for vectors in exact]
        exact = [vectors.astype(np.float32).astype(np.float64) for vectors in exact]
    scores = (exact[0] @ exact[1].T).astype(np.float32)
    for query in range(20):
        rows = sorted(range(300), key=lambda row: (scores[query, row], IDS[row].as_py().encode()), reverse=True)[:30]
        assert found[1][found[0] == query].tolist() == rows
        assert found[2][found[0] == query].tolist() == scores[query, rows].tolist()


@pytest.mark.parametrize(
    ("how", "dimensions", "each"), [("float32", 7, 28), ("float16", 7, 14), ("int8", 7, 7), ("binary", 17, 3)]
)
def test_the_size_of_what_is_stored_counts_whole_bytes(how: str, dimensions: int, each: int) -> None:
    assert Compression(how, None, False).stored_bytes(10, dimensions) == 10 * each


def test_more_dimensions_than_there_are_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"dimensions: found {DIM + 1}, but the vectors have {DIM}"):
        Compression("float32", DIM + 1, False).compressed(DOCUMENTS)
    with pytest.raises(ConfigError, match="dimensions: found 7, but the vectors have 6"):
        find(tmp_path, arguments(tmp_path, [], dimensions=7))
    assert not (tmp_path / "ranges-all.npy").exists()


def test_numbers_that_float16_cannot_hold_are_refused() -> None:
    with pytest.raises(DataError, match="beyond 65504, which float16 cannot hold"):
        Compression("float16", None, False).compressed(DOCUMENTS * 1e6)
    assert np.isfinite(Compression("float16", None, True).compressed(DOCUMENTS * 1e6)).all()


@pytest.mark.parametrize("how", ["float32", "float16", "int8", "binary"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_bits_do_not_hide_what_is_not_finite(how: str, value: float) -> None:
    vectors = DOCUMENTS.copy()
    vectors[3, 3] = value
    with pytest.raises(DataError, match="infinity or not-a-number"):
        compression(how, None, False).compressed(vectors)


VECTORS = np.random.default_rng(0).standard_normal((50, 6)).astype(np.float32)


def arguments(folder: Path, bounds: list[int], **changes: Any) -> dict[str, Any]:
    """Arguments to find the ranges of vectors that are in one file or more."""
    pq.write_table(pa.table({"doc_id": [f"d{i}" for i in range(50)]}), folder / "documents.parquet")
    pq.write_table(pa.table({"query_id": ["q"]}), folder / "queries.parquet")
    write_corpus_record(folder)
    write_record(folder / "model.json", Job(folder), inputs={}, outputs={})
    inputs = {folder / name: file_digest(folder / name) for name in ("model.json", "documents.parquet")}
    paths = [folder / f"chunk-{number}.npy" for number in range(len(bounds) + 1)]
    for path, rows in zip(paths, np.split(VECTORS, bounds), strict=True):
        np.save(path, rows)
        facts: dict[str, Any] = {"made": {"precision": "float32"}, "system": "toy", "rows": len(rows)}
        write_record(path.with_suffix(".json"), Job(folder), inputs=inputs, outputs={path: file_digest(path)}, **facts)
    files = {"documents": str(folder / "documents.parquet"), "model": str(folder / "model.json")}
    files |= {"chunk_vectors": [str(path) for path in paths]}
    return files | {"system": "toy", "similarity": "dot", "dimensions": None} | changes


def find(folder: Path, of: dict[str, Any]) -> Ranges:
    """Find the ranges with some arguments."""
    outputs = [str(folder / f"ranges-all.{ending}") for ending in ("npy", "json")]
    steps.run(find_ranges, Job(folder, "find_ranges/toy", "c0de"), outputs, **of)
    return Ranges(outputs[0])


@pytest.mark.parametrize(
    ("bounds", "dimensions", "similarity"), pairs([[], [10, 30], [0, 1, 49, 50]], [None, 1, 6], ["dot", "cosine"])
)
def test_chunks_and_blocks_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bounds: list[int], dimensions: int | None, similarity: str
) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", 7 * 6 * 4)
    ranges = find(tmp_path, arguments(tmp_path, bounds, dimensions=dimensions, similarity=similarity))
    kept = VECTORS[:, :dimensions].astype(np.float64)
    if similarity == "cosine":
        kept /= np.sqrt((kept**2).sum(axis=1, keepdims=True))
    found = ranges.read(similarity)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.stack([kept.min(axis=0), kept.max(axis=0)]).astype(np.float32))
