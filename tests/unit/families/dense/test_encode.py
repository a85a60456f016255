"""Encoding tables of ids and texts, with the record of how it was done."""

import platform
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from beir_writer import write_corpus_record
from beirflow.core.digests import file_digest
from beirflow.core.errors import ModelError
from beirflow.core.records import Job, read_json, write_json
from beirflow.families import represent
from beirflow.families.dense.encode import Encoding, encode_chunk, encode_queries, in_rows
from beirflow.models.computing import made
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.model_files import fetch_model
from beirflow.models.settings import EncoderSettings
from listening import heard
from refusals import refused
from tiny_bert import SPECIAL, change_weights, having, having_row

TEXTS = ["w1 w2 w3", "w4", "", "w1 w2 w3", "w5 w6", "w4", "w1 w2 w3"]
DISTINCT = ["w1 w2 w3", "w4", "", "w5 w6"]


pytestmark = pytest.mark.usefixtures("threads_as_before")


class Workspace:
    """The files around one call: the ones that are read exist, the ones that are written do not."""

    def __init__(self, folder: Path, model: Path, **fields: Any) -> None:
        self.vectors, self.record, self.folder = folder / "vectors.npy", folder / "vectors.json", folder
        self.system = EncoderSettings(name="tiny", model=str(model), **{"max_length": 64, "pooling": "mean", **fields})
        self.job = Job(folder, "encode_chunk/tiny/some/chunk-0", "c0de")
        if model.is_dir():
            fetch_model(system=self.system, said=["pooling", "similarity"], output_path=str(folder / "model.json"), job=self.job)
        else:
            write_json(folder / "model.json", {})
        encoding = Encoding(self.system, str(folder / "model.json"), precision="float32", device="cpu", token_budget=512)
        self.settings: dict[str, Any] = {"output_path": str(self.vectors), "encoding": encoding, "job": self.job}

    def write(self, name: str, table: pa.Table, **how: Any) -> str:
        """Write a table of the corpus, with the record beside it."""
        path = self.folder / f"{name}.parquet"
        pq.write_table(table, path, **how)
        write_corpus_record(self.folder)
        return str(path)

    def encode(self, texts: Sequence[str], ids: Sequence[str] | None = None) -> np.ndarray:
        """Encode documents, all in one chunk."""
        path = self.write("documents", table_of("doc_id", texts, ids), row_group_size=max(1, len(texts)))
        encode_chunk(documents_path=path, chunk=0, **self.settings)
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


def test_white_space_at_the_ends_of_documents_is_not_encoded(workspace: Workspace) -> None:
    found = workspace.encode(["w1 w2", "w3", "w1 w2\n", "\u3000 w1 w2"])
    assert read_json(workspace.record)["distinct_texts"] == 2
    np.testing.assert_array_equal(found[[2, 3]], found[[0, 0]])


def test_a_table_of_several_pieces_is_encoded_as_a_whole(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = pa.concat_tables([table_of("query_id", TEXTS[:3]), table_of("query_id", TEXTS[3:])])
    assert pieces["text"].num_chunks == 2
    monkeypatch.setattr(represent, "read_table", lambda _: pieces)
    encode_queries(queries_path=workspace.write("queries", pieces), **workspace.settings)
    np.testing.assert_allclose(np.load(workspace.vectors), workspace.expected(TEXTS), rtol=0, atol=1e-5)


def test_each_distinct_text_is_encoded_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = heard(monkeypatch, TransformersEncoder, "windows", lambda _, texts, kind: texts)
    vectors = workspace.encode(TEXTS)
    assert sorted(chain(*seen)) == sorted(DISTINCT)
    np.testing.assert_array_equal(vectors[[0, 0, 1]], vectors[[3, 6, 5]])
    assert read_json(workspace.record)["counts"]["tokens"] == sum(len(text.split()) + 2 for text in DISTINCT)


def test_the_record_says_what_was_computed_with_what_from_what(workspace: Workspace) -> None:
    workspace.encode([*TEXTS, "w7 " * 100])
    record = read_json(workspace.record)
    seconds = record.pop("seconds")
    assert set(seconds) == {"load", "index"}
    assert min(seconds.values()) > 0
    assert record["made"].pop("device")
    assert record.pop("computation").keys() == {"batch_tokens", "threads", "processor", "features"}
    how = record.pop("encoder")
    assert [step["kind"] for step in how["steps"]] == ["transformer", "pooling"]
    assert (how["prompt"], how["max_length"], how["overridden"]) == ("", 64, ["max_length", "pooling"])
    assert record.pop("made") == {
        "precision": "float32",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
    }
    counts = {"tokens": sum(len(text.split()) + 2 for text in DISTINCT) + 64, "truncated_documents": 1}
    inputs = {name: file_digest(workspace.folder / name) for name in ("documents.parquet", "model.json")}
    files = {"inputs": inputs, "outputs": {"vectors.npy": file_digest(workspace.vectors)}, "path": "vectors.json", "format": 1}
    sizes = {"rows": len(TEXTS) + 1, "distinct_texts": len(DISTINCT) + 1, "dim": 32, "counts": counts}
    job = {"system": "tiny", "job": "encode_chunk/tiny/some/chunk-0", "code": "c0de"}
    assert record == files | sizes | job | {"bytes": {"index": workspace.vectors.stat().st_size}}


@pytest.mark.parametrize(("driver", "expected"), [("575.57", {"driver": "575.57"}), (None, {})])
def test_a_record_names_the_gpu_and_its_driver_where_that_is_known(
    monkeypatch: pytest.MonkeyPatch, driver: str | None, expected: dict[str, str]
) -> None:
    """Nothing stands for an unknown version, since several chunks' values are sorted."""
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H200")
    monkeypatch.setattr(made, "driver_version", lambda: driver)
    on_cpu = made.made_with(torch.device("cpu"))
    assert made.made_with(torch.device("cuda")) == {**on_cpu, "device": "NVIDIA H200", "matmul_precision": "highest", **expected}


def test_an_empty_table_gives_no_rows(workspace: Workspace) -> None:
    assert workspace.encode([]).shape == (0, 32)
    record = read_json(workspace.record)
    assert (record["rows"], record["distinct_texts"], record["counts"]["tokens"]) == (0, 0, 0)


def test_a_chunk_is_one_row_group_in_the_order_of_the_table(tiny_bert: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, tiny_bert, query_prefix="w8 ", document_prefix="w9 ")
    path = workspace.write("documents", table_of("doc_id", TEXTS), row_group_size=3)
    for chunk, texts in enumerate([TEXTS[:3], TEXTS[3:6], TEXTS[6:]]):
        encode_chunk(documents_path=path, chunk=chunk, **workspace.settings)
        np.testing.assert_allclose(np.load(workspace.vectors), workspace.expected(texts), rtol=0, atol=1e-5)
    before = workspace.vectors.read_bytes()
    encode_chunk(documents_path=path, chunk=2, **workspace.settings)
    assert workspace.vectors.read_bytes() == before


def test_queries_are_encoded_as_queries(tiny_bert: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, tiny_bert, query_prefix="w8 ", document_prefix="w9 ")
    encode_queries(queries_path=workspace.write("queries", table_of("query_id", [*TEXTS, "w7 " * 100])), **workspace.settings)
    found = np.load(workspace.vectors)[:-1]
    plain = Workspace(tmp_path, tiny_bert)
    expected = plain.expected([f"w8 {text}" for text in TEXTS])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    record = read_json(workspace.record)
    assert record["inputs"] == {name: file_digest(tmp_path / name) for name in ("queries.parquet", "model.json")}
    assert set(record["seconds"]) == {"load", "queries"}
    assert record["bytes"] == {"queries": workspace.vectors.stat().st_size}
    assert record["counts"]["truncated_queries"] == 1


def test_a_vector_that_is_not_finite_names_its_document_and_leaves_no_file(own_bert: Path, tmp_path: Path) -> None:
    change_weights(own_bert, having_row("embeddings.word_embeddings.weight", len(SPECIAL) + 6, np.nan))
    workspace = Workspace(tmp_path, own_bert)
    with refused(ModelError, "system tiny", "doc_id 'doc-w5 w6'", "infinity or not-a-number", "look at its text"):
        workspace.encode(TEXTS, ids=[f"doc-{text or i}" for i, text in enumerate(TEXTS)])
    assert not workspace.vectors.exists()
    assert not workspace.record.exists()


@pytest.mark.parametrize(("factor", "what"), [(0, "all zero"), (1, "all the same one")])
def test_a_model_that_gives_every_text_the_same_vector_is_a_warning(
    tiny_bert: Path, own_bert: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, factor: int, what: str
) -> None:
    change_weights(own_bert, lambda weights: {name: tensor * 0 for name, tensor in weights.items()})
    change_weights(own_bert, having("encoder.layer.1.output.LayerNorm.bias", torch.full((32,), float(factor))))
    Workspace(tmp_path, own_bert).encode([f"w{i}" for i in range(12)])
    assert f"tiny: the vectors of 12 different documents are {what}; the ids alone rank them" in caplog.text
    caplog.clear()
    Workspace(tmp_path, tiny_bert).encode(["w1", "w2", "w1"])
    assert "rank them" not in caplog.text


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
