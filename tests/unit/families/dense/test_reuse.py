"""Vectors of another dataset are reused where its texts are the same, and never where they are not."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import steps
from beir_writer import Chunks
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError, ModelError
from beirflow.core.layout import record_of
from beirflow.core.records import write_json
from beirflow.families.dense.reuse import SharedTexts, SharedVectors, find_vectors
from beirflow.run.devices import choose_precision
from dense_results import DenseResults

FEVER = [["w1 w2 w3", "w4", "w1 w2 w3"], ["w5 w6", "", "w7"], ["w8 w9"]]
"""Three chunks, one text twice."""

OTHER_PRECISION = {torch.float32: "bfloat16", torch.bfloat16: "float32"}[choose_precision("auto", torch.device("cpu"))]
"""Not the one that ``auto`` chooses here."""


pytestmark = pytest.mark.usefixtures("threads_as_before")


class Pair(DenseResults):
    """Two datasets, ``a``, which is encoded, and ``b``, which reuses what it can."""

    def prepare(self, other: Chunks, mine: Chunks) -> None:
        """All but the vectors of ``b``."""
        self.write(other, "a")
        self.write(mine, "b")
        self.match("b", "a")
        self.encode_again(len(other))

    def encode_again(self, chunks: int = 3) -> None:
        for chunk in range(chunks):
            self.encode("a", chunk)

    def reuse(self, chunk: int = 0) -> np.ndarray:
        return self.encode("b", chunk, reuse="a")

    @property
    def shared(self) -> Path:
        return self.corpus("shared.parquet", "b")

    def without_model(self) -> None:
        """From here on, loading the model is an error."""
        self.system = replace(self.system, model=str(self.results / "nowhere"))


@pytest.fixture
def pair(tmp_path: Path, tiny_bert: Path) -> Pair:
    return Pair(tmp_path, tiny_bert)


def test_shared_texts_have_the_vectors_of_the_other_dataset_and_the_others_are_encoded(pair: Pair) -> None:
    pair.prepare(FEVER, [["w10 w11 w12", "w7", "w1 w2 w3", "w13", "w1 w2 w3", "w13"], ["w8 w9", "w4"]])
    vectors = pair.reuse()
    np.testing.assert_array_equal(vectors[1], pair.vectors("a", 1)[2])
    np.testing.assert_array_equal(vectors[[2, 4]], [pair.vectors("a", 0)[0]] * 2)
    for row, text in ((0, "w10 w11 w12"), (3, "w13"), (5, "w13")):
        np.testing.assert_allclose(vectors[row], pair.expected([text])[0], rtol=0, atol=1e-5)
    assert pair.record("b")["distinct_texts"] == 2
    np.testing.assert_array_equal(pair.reuse(1), [pair.vectors("a", 2)[0], pair.vectors("a", 0)[1]])


def test_the_record_says_what_was_encoded_here_and_what_came_from_where(pair: Pair) -> None:
    pair.prepare(FEVER, [["w10 w11 w12", "w7", "w1 w2 w3", "w10 w11 w12"]])
    pair.reuse()
    record, theirs = pair.record("b"), pair.record("a")
    assert set(theirs) == {*record, "computation"}  # of the part that a model encoded
    assert (record["path"], record["rows"], record["distinct_texts"]) == ("embeddings/tiny/b/chunk-0.json", 4, 1)
    assert theirs["counts"] == {"tokens": 5 + 3, "truncated_documents": 0}
    assert record["counts"] == {"tokens": 5, "truncated_documents": 0, "documents_reused": 2}
    assert record["made"] == theirs["made"]
    read = [pair.model, pair.corpus("documents.parquet", "b"), pair.shared, pair.path("a", 0), pair.path("a", 1)]
    assert record["inputs"] == pair.job.digests({path: file_digest(path) for path in read})
    assert record["outputs"] == pair.job.digests({pair.path("b"): file_digest(pair.path("b"))})
    assert record["seconds"]["load"] > 0


def test_without_a_text_of_its_own_a_chunk_needs_no_model_and_its_record_is_whole(pair: Pair) -> None:
    pair.prepare(FEVER, [["w5 w6", "w7"], ["w4", "w99"]])
    pair.without_model()
    pair.reuse()
    record, theirs = pair.record("b"), pair.record("a", 1)
    assert set(theirs) == {*record, "computation"}  # of the part that a model encoded
    assert (record["rows"], record["distinct_texts"]) == (2, 0)
    assert record["counts"] == {"tokens": 0, "truncated_documents": 0, "documents_reused": 2}
    for key in ("system", "dim", "made", "job", "code"):
        assert record[key] == theirs[key]
    assert record["seconds"]["load"] == 0
    assert 0 < record["seconds"]["index"] < 60
    with pytest.raises(ModelError):
        pair.reuse(1)


def test_only_the_vectors_that_are_needed_are_read(pair: Pair) -> None:
    pair.prepare(FEVER, [["w4"], ["w8 w9"]])
    pair.path("a", 1).unlink()
    pair.path("a", 2).unlink()
    pair.reuse(0)
    with pytest.raises(FileNotFoundError):
        pair.reuse(1)


def test_with_no_text_in_common_everything_is_encoded(pair: Pair) -> None:
    pair.prepare(FEVER, [["w20", "w21 w22"]])
    vectors = pair.reuse()
    pair.encode("b", 0)
    np.testing.assert_array_equal(vectors, pair.vectors("b"))
    pair.reuse()
    assert pair.record("b")["counts"]["documents_reused"] == 0
    assert pair.record("b")["made"] == pair.record("a")["made"]
    assert not [name for name in pair.record("b")["inputs"] if name.endswith(".npy")]


def test_a_chunk_without_documents_has_no_rows_and_needs_no_model(pair: Pair) -> None:
    pair.prepare([*FEVER, []], [["w4"], []])
    pair.without_model()
    assert pair.reuse(1).shape == (0, 32)
    assert (pair.record("b", 1)["rows"], pair.record("b", 1)["dim"]) == (0, 32)


def refused(pair: Pair, *parts: object, chunk: int = 0) -> str:
    """The message when the vectors cannot be reused, which has the parts; nothing is written then."""
    with pytest.raises(DataError) as caught:
        pair.reuse(chunk)
    assert not pair.path("b", chunk).exists()
    assert not record_of(pair.path("b", chunk)).exists()
    assert [part for part in map(str, parts) if part not in str(caught.value)] == []
    return str(caught.value)


@pytest.mark.parametrize("encoded_again", [False, True])
def test_when_the_other_corpus_has_changed_no_vector_is_taken_from_a_wrong_row(pair: Pair, encoded_again: bool) -> None:
    pair.prepare(FEVER, [["w7", "w4"]])
    pair.write([FEVER[0][::-1], FEVER[1][::-1], FEVER[2]], "a")
    if encoded_again:
        pair.encode_again()
    else:
        pair.match("b", "a")
    refused(pair, f"{pair.path('a')}: made from the corpus", f"rm {pair.shared}")
    pair.match("b", "a")
    pair.encode_again()
    np.testing.assert_array_equal(pair.reuse(), [pair.vectors("a", 1)[0], pair.vectors("a", 0)[1]])


def test_when_the_other_corpus_has_fewer_chunks_now_the_texts_must_be_matched_again(pair: Pair) -> None:
    pair.prepare(FEVER, [["w8 w9"]])
    pair.write(FEVER[:1], "a")
    shared = pair.shared
    assert refused(pair) == f"{shared}: names chunk 2 of the other dataset, which has 1; match the texts again after: rm {shared}"


def test_when_the_own_corpus_has_changed_no_row_gets_a_wrong_vector(pair: Pair) -> None:
    pair.prepare(FEVER, [["w7", "w4"]])
    pair.write([["w4", "w7"], ["w1"]], "b")
    shared = pair.shared
    for chunk in range(2):
        assert refused(pair, f"{shared}: it was made from the corpora/b/documents.parquet", chunk=chunk).endswith(f"rm {shared}")
    pair.match("b", "a")
    np.testing.assert_array_equal(pair.reuse(), [pair.vectors("a", 0)[1], pair.vectors("a", 1)[2]])


@pytest.mark.parametrize("texts", [["w7"], ["w7", "w99"]], ids=["copied", "partly encoded"])
def test_vectors_of_another_precision_than_the_configured_one_are_not_reused(pair: Pair, texts: list[str]) -> None:
    pair.precision = "bfloat16"
    pair.prepare(FEVER, [texts])
    pair.precision = "float32"
    refused(pair, pair.path("a", 1), "encoded in bfloat16, but here it is float32", "name a precision")


def test_auto_reuses_what_the_other_device_chose_but_does_not_mix_it(pair: Pair) -> None:
    pair.precision = OTHER_PRECISION
    pair.prepare(FEVER, [["w7", "w4"], ["w7", "w99"]])
    pair.precision = "auto"
    np.testing.assert_array_equal(pair.reuse(0), [pair.vectors("a", 1)[2], pair.vectors("a", 0)[1]])
    assert pair.record("b")["made"]["precision"] == OTHER_PRECISION
    refused(pair, f"encoded in {OTHER_PRECISION}, but here it is", chunk=1)


def test_chunks_of_several_precisions_are_not_mixed(pair: Pair) -> None:
    pair.prepare(FEVER, [["w7", "w4"], ["w7", "w5 w6"]])
    pair.precision = "bfloat16"
    pair.encode("a", 1)
    pair.precision = "auto"
    paths = [pair.path("a", chunk) for chunk in range(2)]
    refused(pair, f"{paths[1]}: encoded in bfloat16, but {paths[0]} in float32")
    pair.reuse(1)


def test_devices_of_the_reused_vectors_are_kept(pair: Pair) -> None:
    """Chunks of ``a`` may themselves have been reused, and name several devices."""
    pair.prepare(FEVER, [["w7", "w4"], ["w7", "w99"]])
    for chunk, devices in ((0, ["H100", "H200"]), (1, ["A100", "H100"])):
        record = pair.record("a", chunk)
        write_json(record_of(pair.path("a", chunk)), record | {"made": {**record["made"], "device": devices}})
    pair.reuse(1)
    own = pair.record("a", 2)["made"]
    assert pair.record("b", 1)["made"] == {**own, "device": sorted(["A100", "H100", own["device"]])}
    pair.without_model()
    pair.reuse()
    assert pair.record("b")["made"] == {**own, "device": ["A100", "H100", "H200"]}


TEXTS = st.lists(st.lists(st.sampled_from([f"t{i}" for i in range(12)]), max_size=8), min_size=1, max_size=4)


@given(other=TEXTS, mine=TEXTS)
def test_every_document_gets_the_vector_of_its_text(
    tmp_path_factory: pytest.TempPathFactory, other: list[list[str]], mine: list[list[str]]
) -> None:
    pair = Pair(tmp_path_factory.mktemp("pair"), Path("none"))
    for dataset, chunks in (("a", other), ("b", mine)):
        pair.write(chunks, dataset)
    pair.match("b", "a")
    documents = pair.corpus("documents.parquet", "a")
    for number, texts in enumerate(other):
        vectors = np.array([[int(text[1:]), number] for text in texts], dtype=np.float32).reshape(-1, 2)
        facts: dict[str, Any] = {"made": {"precision": "float32"}, "rows": len(texts), "dim": 2}
        inputs = pair.job.digests({documents: file_digest(documents)})
        steps.write_recorded(SharedVectors, pair.path("a", number), (len(texts), [vectors]), pair.job, inputs=inputs, **facts)
    theirs = [SharedVectors(pair.path("a", number)) for number in range(len(other))]
    for number, texts in enumerate(mine):
        shared = find_vectors(SharedTexts(pair.shared), theirs, number)
        known = [any(text in chunk for chunk in other) for text in texts]
        np.testing.assert_array_equal(~shared.missing, known)
        expected = [int(text[1:]) for text, is_known in zip(texts, known, strict=True) if is_known]
        np.testing.assert_array_equal(shared.gather()[~shared.missing, 0], expected)
    shutil.rmtree(pair.results)
