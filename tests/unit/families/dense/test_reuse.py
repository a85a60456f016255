"""Vectors of another dataset are reused where its texts are the same, and never where they are not."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from beir_writer import Chunks, match_corpora, write_corpus_record, write_documents
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError, ModelError
from beirflow.core.records import Job, read_json, write_json, write_record
from beirflow.families.dense.encode import Encoding, encode_chunk
from beirflow.families.dense.reuse import find_vectors
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.model_files import fetch_model
from beirflow.models.settings import EncoderSettings
from beirflow.run.devices import choose_precision
from lexical_results import damage

FEVER = [["w1 w2 w3", "w4", "w1 w2 w3"], ["w5 w6", "", "w7"], ["w8 w9"]]
"""Three chunks, one text twice."""

OTHER_PRECISION = {torch.float32: "bfloat16", torch.bfloat16: "float32"}[choose_precision("auto", torch.device("cpu"))]
"""Not the one that ``auto`` chooses here."""


pytestmark = pytest.mark.usefixtures("threads_as_before")


class Pair:
    """Two datasets in a folder, ``a``, which is encoded, and ``b``, which reuses what it can."""

    def __init__(self, folder: Path, model: Path) -> None:
        self.folder, self.job = folder, Job(folder, "encode_chunk/tiny", "c0de")
        self.system = EncoderSettings(name="tiny", model=str(model), max_length=64, pooling="mean")
        self.model_path = folder / "model.json"
        if model.is_dir():
            fetch_model(system=self.system, said=["pooling", "similarity"], output_path=str(self.model_path), job=self.job)
        else:
            write_json(self.model_path, {})
        self.precision = "float32"

    def path(self, dataset: str, name: str) -> Path:
        return self.folder / dataset / name

    def write(self, dataset: str, chunks: Chunks) -> None:
        write_corpus_record(write_documents(self.path(dataset, "documents.parquet"), chunks, dataset).parent, self.folder)

    def match(self) -> None:
        match_corpora(self.path("b", ""), self.path("a", ""))

    @property
    def shared_paths(self) -> list[str]:
        chunks = pq.ParquetFile(self.path("a", "documents.parquet")).metadata.num_row_groups
        return [str(self.path("b", "shared.parquet")), *(str(self.path("a", f"chunk-{i}.npy")) for i in range(chunks))]

    def encode(self, dataset: str, chunk: int, shared_paths: Sequence[str] = ()) -> None:
        encode_chunk(
            documents_path=str(self.path(dataset, "documents.parquet")),
            chunk=chunk,
            output_path=str(self.path(dataset, f"chunk-{chunk}.npy")),
            encoding=Encoding(self.system, str(self.model_path), precision=self.precision, device="cpu", token_budget=512),
            job=self.job,
            shared_paths=shared_paths,
        )

    def prepare(self, other: Chunks, mine: Chunks) -> None:
        """All but the vectors of ``b``."""
        self.write("a", other)
        self.write("b", mine)
        self.match()
        for chunk in range(len(other)):
            self.encode("a", chunk)

    def reuse(self, chunk: int = 0) -> np.ndarray:
        self.encode("b", chunk, self.shared_paths)
        return np.load(self.path("b", f"chunk-{chunk}.npy"))

    def vectors(self, chunk: int) -> np.ndarray:
        return np.load(self.path("a", f"chunk-{chunk}.npy"))

    def record(self, dataset: str = "b", chunk: int = 0) -> dict[str, Any]:
        return read_json(self.path(dataset, f"chunk-{chunk}.json"))

    def without_model(self) -> None:
        """From here on, loading the model is an error."""
        self.system = EncoderSettings(name="tiny", model=str(self.folder / "nowhere"), max_length=64, pooling="mean")

    def encoded_alone(self, text: str) -> np.ndarray:
        encoder = TransformersEncoder(self.system, Path(self.system.model), device="cpu", precision="float32", token_budget=512)
        return encoder.encode_corpus([text])[0]


@pytest.fixture
def pair(tmp_path: Path, tiny_bert: Path) -> Pair:
    return Pair(tmp_path, tiny_bert)


def test_shared_texts_have_the_vectors_of_the_other_dataset_and_the_others_are_encoded(pair: Pair) -> None:
    pair.prepare(FEVER, [["w10 w11 w12", "w7", "w1 w2 w3", "w13", "w1 w2 w3", "w13"], ["w8 w9", "w4"]])
    vectors = pair.reuse()
    np.testing.assert_array_equal(vectors[1], pair.vectors(1)[2])
    np.testing.assert_array_equal(vectors[[2, 4]], [pair.vectors(0)[0]] * 2)
    for row, text in ((0, "w10 w11 w12"), (3, "w13"), (5, "w13")):
        np.testing.assert_allclose(vectors[row], pair.encoded_alone(text), rtol=0, atol=1e-5)
    assert pair.record()["distinct_texts"] == 2
    np.testing.assert_array_equal(pair.reuse(1), [pair.vectors(2)[0], pair.vectors(0)[1]])


def test_the_record_says_what_was_encoded_here_and_what_came_from_where(pair: Pair) -> None:
    pair.prepare(FEVER, [["w10 w11 w12", "w7", "w1 w2 w3", "w10 w11 w12"]])
    pair.reuse()
    record, theirs = pair.record(), pair.record("a")
    assert set(theirs) == {*record, "computation"}  # of the part that a model encoded
    assert (record["path"], record["rows"], record["distinct_texts"]) == ("b/chunk-0.json", 4, 1)
    assert theirs["counts"] == {"tokens": 5 + 3, "truncated_documents": 0}
    assert record["counts"] == {"tokens": 5, "truncated_documents": 0, "documents_reused": 2}
    assert record["made"] == theirs["made"]
    read = ["model.json", "b/documents.parquet", "b/shared.parquet", "a/chunk-0.npy", "a/chunk-1.npy"]
    assert record["inputs"] == {name: file_digest(pair.folder / name) for name in read}
    assert record["outputs"] == {"b/chunk-0.npy": file_digest(pair.path("b", "chunk-0.npy"))}
    assert record["seconds"]["load"] > 0


def test_without_a_text_of_its_own_a_chunk_needs_no_model_and_its_record_is_whole(pair: Pair) -> None:
    pair.prepare(FEVER, [["w5 w6", "w7"], ["w4", "w99"]])
    pair.without_model()
    pair.reuse()
    record, theirs = pair.record(), pair.record("a", 1)
    assert set(theirs) == {*record, "computation"}  # of the part that a model encoded
    assert (record["rows"], record["distinct_texts"]) == (2, 0)
    assert record["counts"] == {"tokens": 0, "truncated_documents": 0, "documents_reused": 2}
    for key in ("system", "dim", "made", "job", "code"):
        assert record[key] == theirs[key]
    assert record["seconds"]["load"] == 0
    assert 0 < record["seconds"]["index"] < 60
    with pytest.raises(ModelError):
        pair.reuse(1)


def test_only_the_files_that_are_needed_are_opened(pair: Pair) -> None:
    pair.prepare(FEVER, [["w4"], ["w8 w9"]])
    for suffix in (".npy", ".json"):
        pair.path("a", f"chunk-1{suffix}").unlink()
        pair.path("a", f"chunk-2{suffix}").unlink()
    pair.reuse(0)
    with pytest.raises(FileNotFoundError):
        pair.reuse(1)


def test_with_no_text_in_common_everything_is_encoded(pair: Pair) -> None:
    pair.prepare(FEVER, [["w20", "w21 w22"]])
    vectors = pair.reuse()
    pair.encode("b", 0)
    np.testing.assert_array_equal(vectors, np.load(pair.path("b", "chunk-0.npy")))
    pair.reuse()
    assert pair.record()["counts"]["documents_reused"] == 0
    assert pair.record()["made"] == pair.record("a")["made"]
    assert not [name for name in pair.record()["inputs"] if name.endswith(".npy")]


def test_a_chunk_without_documents_has_no_rows_and_needs_no_model(pair: Pair) -> None:
    pair.prepare([*FEVER, []], [["w4"], []])
    pair.without_model()
    assert pair.reuse(1).shape == (0, 32)
    assert (pair.record(chunk=1)["rows"], pair.record(chunk=1)["dim"]) == (0, 32)


def refused(pair: Pair, *parts: object, chunk: int = 0) -> str:
    """The message when the vectors cannot be reused, which has the parts; nothing is written then."""
    with pytest.raises(DataError) as caught:
        pair.reuse(chunk)
    assert not pair.path("b", f"chunk-{chunk}.npy").exists()
    assert not pair.path("b", f"chunk-{chunk}.json").exists()
    assert [part for part in map(str, parts) if part not in str(caught.value)] == []
    return str(caught.value)


@pytest.mark.parametrize("texts", [["w7"], ["w7", "w99"]], ids=["copied", "partly encoded"])
def test_a_damaged_file_is_named_with_its_repair(pair: Pair, texts: list[str]) -> None:
    pair.prepare(FEVER, [texts])
    damaged = pair.path("a", "chunk-1.npy")
    damage(damaged)
    refused(pair, damaged, file_digest(damaged), pair.record("a", 1)["outputs"]["a/chunk-1.npy"], f"rm {damaged}")
    damaged.unlink()
    pair.encode("a", 1)
    np.testing.assert_array_equal(pair.reuse()[0], pair.vectors(1)[2])


def test_vectors_of_another_model_are_not_reused(pair: Pair) -> None:
    pair.prepare(FEVER, [["w7"]])
    write_json(pair.model_path, read_json(pair.model_path) | {"model": "another"})
    record = pair.path("a", "chunk-1.json")
    refused(pair, f"{record}: ", pair.record("a")["inputs"]["model.json"], f"rm {record}")
    for chunk in range(3):
        pair.encode("a", chunk)
    pair.reuse()


@pytest.mark.parametrize("encoded_again", [False, True])
def test_when_the_other_corpus_has_changed_no_vector_is_taken_from_a_wrong_row(pair: Pair, encoded_again: bool) -> None:
    pair.prepare(FEVER, [["w7", "w4"]])
    pair.write("a", [FEVER[0][::-1], FEVER[1][::-1], FEVER[2]])
    if encoded_again:
        for chunk in range(3):
            pair.encode("a", chunk)
    else:
        pair.match()
    refused(pair, f"{pair.path('a', 'chunk-0.npy')}: made from the corpus", f"rm {pair.path('b', 'shared.parquet')}")
    pair.match()
    for chunk in range(3):
        pair.encode("a", chunk)
    np.testing.assert_array_equal(pair.reuse(), [pair.vectors(1)[0], pair.vectors(0)[1]])


def test_when_the_other_corpus_has_fewer_chunks_now_the_texts_must_be_matched_again(pair: Pair) -> None:
    pair.prepare(FEVER, [["w8 w9"]])
    pair.write("a", FEVER[:1])
    shared = pair.path("b", "shared.parquet")
    assert refused(pair) == f"{shared}: names chunk 2 of the other dataset, which has 1; match the texts again after: rm {shared}"


def test_when_the_own_corpus_has_changed_no_row_gets_a_wrong_vector(pair: Pair) -> None:
    pair.prepare(FEVER, [["w7", "w4"]])
    pair.write("b", [["w4", "w7"], ["w1"]])
    shared = pair.path("b", "shared.parquet")
    for chunk in range(2):
        assert refused(pair, f"{shared}: made from the corpus", chunk=chunk).endswith(f"rm {shared}")
    pair.match()
    np.testing.assert_array_equal(pair.reuse(), [pair.vectors(0)[1], pair.vectors(1)[2]])


@pytest.mark.parametrize("texts", [["w7"], ["w7", "w99"]], ids=["copied", "partly encoded"])
def test_vectors_of_another_precision_than_the_configured_one_are_not_reused(pair: Pair, texts: list[str]) -> None:
    pair.precision = "bfloat16"
    pair.prepare(FEVER, [texts])
    pair.precision = "float32"
    refused(pair, pair.path("a", "chunk-1.npy"), "encoded in bfloat16, but here it is float32", "name a precision")


def test_auto_reuses_what_the_other_device_chose_but_does_not_mix_it(pair: Pair) -> None:
    pair.precision = OTHER_PRECISION
    pair.prepare(FEVER, [["w7", "w4"], ["w7", "w99"]])
    pair.precision = "auto"
    np.testing.assert_array_equal(pair.reuse(0), [pair.vectors(1)[2], pair.vectors(0)[1]])
    assert pair.record()["made"]["precision"] == OTHER_PRECISION
    refused(pair, f"encoded in {OTHER_PRECISION}, but here it is", chunk=1)


def test_chunks_of_several_precisions_are_not_mixed(pair: Pair) -> None:
    pair.prepare(FEVER, [["w7", "w4"], ["w7", "w5 w6"]])
    pair.precision = "bfloat16"
    pair.encode("a", 1)
    pair.precision = "auto"
    paths = [pair.path("a", f"chunk-{chunk}.npy") for chunk in range(2)]
    refused(pair, f"{paths[1]}: encoded in bfloat16, but {paths[0]} in float32")
    pair.reuse(1)


def test_devices_of_the_reused_vectors_are_kept(pair: Pair) -> None:
    """Chunks of ``a`` may themselves have been reused, and name several devices."""
    pair.prepare(FEVER, [["w7", "w4"], ["w7", "w99"]])
    for chunk, devices in ((0, ["H100", "H200"]), (1, ["A100", "H100"])):
        record = pair.record("a", chunk)
        write_json(pair.path("a", f"chunk-{chunk}.json"), record | {"made": {**record["made"], "device": devices}})
    pair.reuse(1)
    own = pair.record("a", 2)["made"]
    assert pair.record(chunk=1)["made"] == {**own, "device": sorted(["A100", "H100", own["device"]])}
    pair.without_model()
    pair.reuse()
    assert pair.record()["made"] == {**own, "device": ["A100", "H100", "H200"]}


TEXTS = st.lists(st.lists(st.sampled_from([f"t{i}" for i in range(12)]), max_size=8), min_size=1, max_size=4)


@given(other=TEXTS, mine=TEXTS)
def test_every_document_gets_the_vector_of_its_text(
    tmp_path_factory: pytest.TempPathFactory, other: list[list[str]], mine: list[list[str]]
) -> None:
    pair = Pair(tmp_path_factory.mktemp("pair"), Path("none"))
    for dataset, chunks in (("a", other), ("b", mine)):
        pair.write(dataset, chunks)
    pair.match()
    inputs = {path: file_digest(path) for path in (pair.model_path, pair.path("a", "documents.parquet"))}
    for number, texts in enumerate(other):
        vectors = np.array([[int(text[1:]), number] for text in texts], dtype=np.float32).reshape(-1, 2)
        path = pair.path("a", f"chunk-{number}.npy")
        np.save(path, vectors)
        facts: dict[str, Any] = {"made": {"precision": "float32"}, "system": "tiny", "rows": len(texts), "dim": 2}
        write_record(path.with_suffix(".json"), pair.job, inputs=inputs, outputs={path: file_digest(path)}, **facts)
    for number, texts in enumerate(mine):
        paths = {"documents_path": str(pair.path("b", "documents.parquet")), "model_path": str(pair.model_path)}
        shared = find_vectors(pair.shared_paths, number, system="tiny", job=pair.job, **paths)
        known = [any(text in chunk for chunk in other) for text in texts]
        np.testing.assert_array_equal(~shared.missing, known)
        expected = [int(text[1:]) for text, is_known in zip(texts, known, strict=True) if is_known]
        np.testing.assert_array_equal(shared.gather()[~shared.missing, 0], expected)
    shutil.rmtree(pair.folder)
