"""Encoding tables of ids and texts, with the record of how it was done."""

import hashlib
import platform
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from beir_writer import write_corpus_record
from beirflow.dense.encode import encode_chunk, encode_queries, encode_table, in_rows
from beirflow.files.digests import file_digest
from beirflow.files.errors import ModelError
from beirflow.files.records import read_json, write_json
from beirflow.models.encoder import TransformersEncoder
from beirflow.models.model_files import fetch_model
from beirflow.models.settings import System
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from tiny_bert import SPECIAL

TEXTS = ["w1 w2 w3", "w4", "", "w1 w2 w3", "w5 w6", "w4", "w1 w2 w3"]
DISTINCT = ["w1 w2 w3", "w4", "", "w5 w6"]


pytestmark = pytest.mark.usefixtures("threads_as_before")


class Workspace:
    """The files around one call: the ones that are read exist, the ones that are written do not."""

    def __init__(self, folder: Path, model: Path, **fields: Any) -> None:
        self.vectors, self.record, self.folder = folder / "vectors.npy", folder / "vectors.json", folder
        self.system = System(name="tiny", model=str(model), **{"max_length": 64, **fields})
        write_json(folder / "corpus.json", {"sha256": {"documents.parquet": "dd", "queries.parquet": "cc"}})
        if model.is_dir():
            fetch_model(system=self.system, output_path=str(folder / "model.json"))
        else:
            write_json(folder / "model.json", {})
        self.settings: dict[str, Any] = {
            "corpus_path": str(folder / "corpus.json"),
            "model_path": str(folder / "model.json"),
            "output_path": str(self.vectors),
            "system": asdict(self.system),
            "device": "cpu",
            "precision": "float32",
            "token_budget": 512,
            "threads": 1,
        }

    def encode(self, texts: Sequence[str], ids: Sequence[str] | None = None) -> np.ndarray:
        """Encode documents."""
        encode_table(table_of("doc_id", texts, ids), "documents.parquet", **self.settings)
        return np.load(self.vectors)

    def expected(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of documents, each encoded alone."""
        encoder = TransformersEncoder(self.system, Path(self.system.model), device="cpu", precision="float32", token_budget=512)
        return np.concatenate([encoder.encode_corpus([text]) for text in texts])


def table_of(column: str, texts: Sequence[str], ids: Sequence[str] | None = None) -> pa.Table:
    names = ids or [f"id{i}" for i in range(len(texts))]
    return pa.table({column: pa.array(names, pa.string()), "text": pa.array(texts, pa.string())})


@pytest.fixture
def workspace(tiny_bert: Path, tmp_path: Path) -> Workspace:
    return Workspace(tmp_path, tiny_bert)


def test_rows_are_in_the_order_of_the_table(workspace: Workspace) -> None:
    vectors = workspace.encode(TEXTS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, workspace.expected(TEXTS), rtol=0, atol=1e-5)


def test_a_table_of_several_pieces_is_encoded_as_a_whole(workspace: Workspace) -> None:
    pieces = [table_of("doc_id", TEXTS[:3]), table_of("doc_id", TEXTS[3:])]
    encode_table(pa.concat_tables(pieces), "documents.parquet", **workspace.settings)
    np.testing.assert_allclose(np.load(workspace.vectors), workspace.expected(TEXTS), rtol=0, atol=1e-5)


def test_each_distinct_text_is_encoded_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    windows = TransformersEncoder.windows

    def counting(self: TransformersEncoder, texts: Sequence[str], kind: str) -> Iterator[tuple[int, np.ndarray]]:
        seen.extend(texts)
        return windows(self, texts, kind)

    monkeypatch.setattr(TransformersEncoder, "windows", counting)
    vectors = workspace.encode(TEXTS)
    assert sorted(seen) == sorted(DISTINCT)
    np.testing.assert_array_equal(vectors[[0, 0, 1]], vectors[[3, 6, 5]])
    assert read_json(workspace.record)["tokens"] == sum(len(text.split()) + 2 for text in DISTINCT)


def test_the_record_says_what_was_computed_with_what_from_what(workspace: Workspace) -> None:
    workspace.encode([*TEXTS, "w7 " * 100])
    record = read_json(workspace.record)
    seconds = record.pop("seconds")
    assert set(seconds) == {"load", "encode"}
    assert min(seconds.values()) > 0
    assert record.pop("device")
    assert record.pop("python") == platform.python_version()
    assert {name: record.pop(name) for name in ("torch", "transformers")}["torch"] == torch.__version__
    assert record == {
        "system": "tiny",
        "rows": len(TEXTS) + 1,
        "distinct_texts": len(DISTINCT) + 1,
        "dim": 32,
        "tokens": sum(len(text.split()) + 2 for text in DISTINCT) + 64,
        "truncated_texts": 1,
        "precision": "float32",
        "code": "",
        "sha256": hashlib.sha256(workspace.vectors.read_bytes()).hexdigest(),
        "from_sha256": {"model": file_digest(workspace.folder / "model.json"), "documents.parquet": "dd"},
    }


def test_the_same_table_gives_the_same_file_byte_for_byte(workspace: Workspace) -> None:
    workspace.encode(TEXTS)
    first = workspace.vectors.read_bytes()
    workspace.encode(TEXTS)
    assert workspace.vectors.read_bytes() == first


def test_an_empty_table_gives_no_rows(workspace: Workspace) -> None:
    assert workspace.encode([]).shape == (0, 32)
    record = read_json(workspace.record)
    assert (record["rows"], record["distinct_texts"], record["tokens"]) == (0, 0, 0)


def test_queries_are_encoded_as_queries(tiny_bert: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, tiny_bert, query_prefix="w8 ", document_prefix="w9 ")
    pq.write_table(table_of("query_id", TEXTS), tmp_path / "queries.parquet")
    write_corpus_record(tmp_path)
    encode_queries(queries_path=str(tmp_path / "queries.parquet"), **workspace.settings)
    plain = Workspace(tmp_path, tiny_bert)
    expected = plain.expected([f"w8 {text}" for text in TEXTS])
    np.testing.assert_allclose(np.load(workspace.vectors), expected, rtol=0, atol=1e-5)
    assert read_json(workspace.record)["from_sha256"]["queries.parquet"] == file_digest(tmp_path / "queries.parquet")


def test_a_chunk_is_one_row_group(tiny_bert: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, tiny_bert, query_prefix="w8 ", document_prefix="w9 ")
    pq.write_table(table_of("doc_id", TEXTS), tmp_path / "documents.parquet", row_group_size=3)
    write_corpus_record(tmp_path)
    for chunk, texts in enumerate([TEXTS[:3], TEXTS[3:6], TEXTS[6:]]):
        encode_chunk(documents_path=str(tmp_path / "documents.parquet"), chunk=chunk, **workspace.settings)
        np.testing.assert_allclose(np.load(workspace.vectors), workspace.expected(texts), rtol=0, atol=1e-5)


def test_a_vector_that_is_not_finite_names_its_document_and_leaves_no_file(tiny_bert: Path, tmp_path: Path) -> None:
    model = shutil.copytree(tiny_bert, tmp_path / "model")
    weights = load_file(model / "model.safetensors")
    weights["embeddings.word_embeddings.weight"][len(SPECIAL) + 6] = torch.nan
    save_file(weights, model / "model.safetensors", {"format": "pt"})
    workspace = Workspace(tmp_path, model)
    with pytest.raises(ModelError) as caught:
        workspace.encode(TEXTS, ids=[f"doc-{text or i}" for i, text in enumerate(TEXTS)])
    for part in ("system tiny", "doc_id 'doc-w5 w6'", "infinity or not-a-number", "float32"):
        assert part in str(caught.value)
    assert not workspace.vectors.exists()
    assert not workspace.record.exists()


def test_a_model_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"system tiny.*nothing is there"):
        Workspace(tmp_path, tmp_path / "nowhere").encode(TEXTS)


@given(texts=st.lists(st.integers(0, 8), max_size=30), window=st.integers(1, 10))
def test_every_row_has_the_vector_of_its_text_whatever_the_windows(texts: list[int], window: int) -> None:
    indices = pa.array(texts, pa.int64()).dictionary_encode().indices.to_numpy()
    distinct = np.arange(2 * len(set(texts)), dtype=np.float32).reshape(-1, 2)
    windows = ((start, distinct[start : start + window]) for start in range(0, len(distinct), window))
    parts = list(in_rows(windows, indices, dim=2))
    np.testing.assert_array_equal(np.concatenate(parts), distinct[indices])


def test_rows_are_given_as_soon_as_their_vectors_are_there() -> None:
    windows = iter([(0, np.zeros((2, 1), np.float32)), (2, np.ones((1, 1), np.float32))])
    parts = in_rows(windows, np.array([0, 1, 0, 2, 1]), dim=1)
    assert next(parts).tolist() == [[0.0], [0.0], [0.0]]
    assert next(parts).tolist() == [[1.0], [0.0]]
