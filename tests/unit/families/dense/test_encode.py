"""Encoding tables of ids and texts, with the record of how it was done."""

import platform
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
import transformers

from beirflow.core.errors import ModelError
from beirflow.families.texts import Texts, in_rows
from beirflow.models.computing import made
from beirflow.models.encoders.encoder import TransformersEncoder
from dense_results import DenseResults
from listening import heard
from refusals import refused
from tiny_bert import SPECIAL, change_weights, having, having_row

TEXTS = ["w1 w2 w3", "w4", "", "w1 w2 w3", "w5 w6", "w4", "w1 w2 w3"]
DISTINCT = ["w1 w2 w3", "w4", "", "w5 w6"]


pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.fixture
def made_by_tiny(tiny_bert: Path, tmp_path: Path) -> DenseResults:
    return DenseResults(tmp_path, tiny_bert)


def test_white_space_at_the_ends_of_documents_is_not_encoded(made_by_tiny: DenseResults) -> None:
    found = made_by_tiny.encode_texts(["w1 w2", "w3", "w1 w2\n", "\u3000 w1 w2"])
    assert made_by_tiny.record()["distinct_texts"] == 2
    np.testing.assert_array_equal(found[[2, 3]], found[[0, 0]])


def test_each_distinct_text_is_encoded_once(made_by_tiny: DenseResults, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = heard(monkeypatch, TransformersEncoder, "windows", lambda _, texts, kind: texts)
    vectors = made_by_tiny.encode_texts(TEXTS)
    assert sorted(chain(*seen)) == sorted(DISTINCT)
    np.testing.assert_array_equal(vectors[[0, 0, 1]], vectors[[3, 6, 5]])
    assert made_by_tiny.record()["counts"]["tokens"] == sum(len(text.split()) + 2 for text in DISTINCT)


def test_the_record_says_what_was_computed_with_what_from_what(made_by_tiny: DenseResults) -> None:
    made_by_tiny.encode_texts([*TEXTS, "w7 " * 100])
    record = made_by_tiny.record()
    seconds = record.pop("seconds")
    assert set(seconds) == {"load", "index"}
    assert min(seconds.values()) > 0
    assert record["made"].pop("device")
    assert record.pop("computation").keys() - {"products"} == {"batch_tokens", "threads", "processor", "features"}
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
    assert set(record["inputs"]) == {"corpora/some/documents.parquet", "models/tiny.json"}
    sizes = {"rows": len(TEXTS) + 1, "distinct_texts": len(DISTINCT) + 1, "dim": 32, "counts": counts, "system": "tiny"}
    assert record.items() >= sizes.items()
    assert record["bytes"] == {"index": made_by_tiny.path().stat().st_size}


@pytest.mark.parametrize(("driver", "expected"), [("575.57", {"driver": "575.57"}), (None, {})])
def test_a_record_names_the_gpu_and_its_driver_where_that_is_known(
    monkeypatch: pytest.MonkeyPatch, driver: str | None, expected: dict[str, str]
) -> None:
    """Nothing stands for an unknown version, since several chunks' values are sorted."""
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H200")
    monkeypatch.setattr(made, "driver_version", lambda: driver)
    on_cpu = made.made_with(torch.device("cpu"))
    assert made.made_with(torch.device("cuda")) == {**on_cpu, "device": "NVIDIA H200", "matmul_precision": "highest", **expected}


def test_an_empty_table_gives_no_rows(made_by_tiny: DenseResults) -> None:
    assert made_by_tiny.encode_texts([]).shape == (0, 32)
    record = made_by_tiny.record()
    assert (record["rows"], record["distinct_texts"], record["counts"]["tokens"]) == (0, 0, 0)


def test_a_chunk_is_one_row_group_in_the_order_of_the_table(tiny_bert: Path, tmp_path: Path) -> None:
    made, chunks = (
        DenseResults(tmp_path, tiny_bert, query_prefix="w8 ", document_prefix="w9 "),
        [TEXTS[:3], TEXTS[3:6], TEXTS[6:]],
    )
    made.write(chunks)
    for chunk, texts in enumerate(chunks):
        np.testing.assert_allclose(made.encode(chunk=chunk), made.expected(texts), rtol=0, atol=1e-5)
    before = made.path(chunk=2).read_bytes()
    made.encode(chunk=2)
    assert made.path(chunk=2).read_bytes() == before


@pytest.mark.parametrize("pieces", [3, 1000])
def test_queries_are_encoded_as_queries_however_their_table_is_cut(tiny_bert: Path, tmp_path: Path, pieces: int) -> None:
    made = DenseResults(tmp_path, tiny_bert, query_prefix="w8 ", document_prefix="w9 ")
    made.write_queries([*TEXTS, "w7 " * 100], pieces)
    found, expected = made.encode(chunk=None)[:-1], DenseResults(tmp_path, tiny_bert).expected([f"w8 {text}" for text in TEXTS])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    record = made.record(chunk=None)
    assert set(record["inputs"]) == {"corpora/some/queries.parquet", "models/tiny.json"}
    assert set(record["seconds"]) == {"load", "queries"}
    assert record["bytes"] == {"queries": made.path(chunk=None).stat().st_size}
    assert record["counts"]["truncated_queries"] == 1


def test_a_vector_that_is_not_finite_names_its_document_and_leaves_no_file(own_bert: Path, tmp_path: Path) -> None:
    change_weights(own_bert, having_row("embeddings.word_embeddings.weight", len(SPECIAL) + 6, np.nan))
    made = DenseResults(tmp_path, own_bert)
    with refused(ModelError, "system tiny", "doc_id 'd4'", "infinity or not-a-number; look at its text"):
        made.encode_texts(TEXTS)
    assert not list(made.path().parent.iterdir())
    made.precision = "bfloat16"
    with refused(ModelError, "use precision float32, or look at its text"):
        made.encode()


@pytest.mark.parametrize(("factor", "what"), [(0, "all zero"), (1, "all the same one")])
def test_a_model_that_gives_every_text_the_same_vector_is_a_warning(
    tiny_bert: Path, own_bert: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, factor: int, what: str
) -> None:
    change_weights(own_bert, lambda weights: {name: tensor * 0 for name, tensor in weights.items()})
    change_weights(own_bert, having("encoder.layer.1.output.LayerNorm.bias", torch.full((32,), float(factor))))
    DenseResults(tmp_path, own_bert).encode_texts([f"w{i}" for i in range(12)])
    assert f"tiny: the vectors of 12 different documents are {what}; the ids alone rank them" in caplog.text
    caplog.clear()
    DenseResults(tmp_path, tiny_bert).encode_texts(["w1", "w2", "w1"])
    assert "rank them" not in caplog.text


def test_a_model_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"system tiny.*nothing is there"):
        DenseResults(tmp_path, tmp_path / "nowhere").encode_texts(TEXTS)


def test_equal_texts_with_other_additions_are_others() -> None:
    table = pa.table({"text": ["a", "b", "a", "a", "b"], "added": ["x", "x", "x", "y", "x"]})
    found = Texts.of("documents", table)
    assert list(zip(found.different, found.added or (), strict=True)) == [("a", "x"), ("b", "x"), ("a", "y")]
    assert found.indices.tolist() == [0, 1, 0, 2, 1]
    found = Texts.of("documents", table.select(["text"]))
    assert (found.different, found.added) == (["a", "b"], None)


def rows_of(windows: Iterable[np.ndarray], indices: np.ndarray) -> Iterator[np.ndarray]:
    return in_rows(windows, indices, count=len, one=lambda vectors, row: vectors[[row]], together=np.concatenate)


def test_rows_are_given_as_soon_as_their_vectors_are_there() -> None:
    parts = rows_of(iter([np.zeros((2, 1), np.float32), np.ones((1, 1), np.float32)]), np.array([0, 1, 0, 2, 1]))
    assert next(parts).tolist() == [[0.0], [0.0], [0.0]]
    assert next(parts).tolist() == [[1.0], [0.0]]
