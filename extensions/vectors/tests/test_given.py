"""Vectors of elsewhere are taken in the order of the corpus, or refused in a sentence that names file, row and remedy."""

import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steps
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.layout import CHUNK_VECTORS, QUERY_VECTORS, record_of
from beirflow.core.records import Job, read_json
from beirflow.extensions.vectors.check_vectors import GivenFiles, check_vectors
from beirflow.extensions.vectors.layout import FILES, GIVEN_VECTORS
from beirflow.extensions.vectors.take_vectors import take_chunk_vectors, take_query_vectors
from pickles import Trap
from refusals import refused
from run_results import DATASET, RunResults, ids

NAMES = {"system": "theirs", "dataset": DATASET}
DIM = 5


class Given:
    """A corpus of 12 documents in two chunks with 3 queries, and vectors for them in another order."""

    def __init__(self, folder: Path) -> None:
        self.made = RunResults(folder / "results", dict.fromkeys(ids(12), "text"), {"q0": "?", "q1": "?", "q9": "?"})
        self.folder = folder / "theirs" / DATASET
        self.folder.mkdir(parents=True)
        self.of = {"documents": self.made_up(ids(12), 1), "queries": self.made_up(["q0", "q1", "q9"], 2)}
        for name, vectors in self.of.items():
            self.write(name, vectors)

    def made_up(self, names: list[str], seed: int) -> dict[str, np.ndarray]:
        """Vectors by id."""
        return dict(zip(names, np.random.default_rng(seed).normal(size=(len(names), DIM)).astype(np.float32), strict=True))

    def write(self, name: str, vectors: dict[str, Any], dtype: Any = np.float32) -> None:
        """Write the vectors of documents or of queries, the last first."""
        np.save(self.folder / f"{name}.npy", np.array([*vectors.values()][::-1], dtype))
        (self.folder / f"{name}.txt").write_text("".join(f"{each}\n" for each in [*vectors][::-1]))

    def path(self, pattern: Any, **names: Any) -> Path:
        """A file of the results."""
        return self.made.results / pattern(**NAMES, **names)

    def check(self) -> dict[str, Any]:
        """Check the vectors; their record."""
        files = GivenFiles(*(str(self.folder / name) for name in FILES))
        corpus = {"queries": self.made.queries_path, "documents": self.made.documents_path}
        path = self.path(GIVEN_VECTORS)
        job = Job(self.made.results, "check_vectors/theirs/small", "c0de")
        path.parent.mkdir(parents=True, exist_ok=True)
        steps.run(check_vectors, job, [str(path)], **corpus, files=files, system="theirs", states={})
        return read_json(path)

    def take(self, chunk: int | None = None) -> np.ndarray:
        """Take the vectors of a chunk, or of the queries."""
        name = "queries" if chunk is None else "documents"
        path = self.path(QUERY_VECTORS) if chunk is None else self.path(CHUNK_VECTORS, chunk=chunk)
        corpus = {"queries": self.made.queries_path} if chunk is None else {"documents": self.made.documents_path, "chunk": chunk}
        path.parent.mkdir(parents=True, exist_ok=True)
        steps.run(
            take_query_vectors if chunk is None else take_chunk_vectors,
            Job(self.made.results, "take_vectors/theirs/small", "c0de"),
            [str(path), str(record_of(path))],
            model=str(self.path(GIVEN_VECTORS)),
            vectors_in_path=str(self.folder / f"{name}.npy"),
            ids_in_path=str(self.folder / f"{name}.txt"),
            **corpus,
        )
        return np.load(path)


@pytest.fixture
def given(tmp_path: Path) -> Given:
    return Given(tmp_path)


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8"])
def test_vectors_are_taken_by_their_ids_in_the_order_of_the_corpus(
    given: Given, dtype: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("beirflow.extensions.vectors.take_vectors.WINDOW_BYTES", 4 * DIM * 3)
    more = {"elsewhere": np.full(DIM, np.nan)}
    for name, vectors in given.of.items():
        given.write(name, {**more, **vectors}, dtype)
    with caplog.at_level(logging.WARNING):
        record = given.check()
    assert f"{given.folder / 'queries.npy'}: 1 vectors are of no text among the queries of small" in caplog.text
    assert record["files"] == {name: file_digest(given.folder / name) for name in FILES}
    name = np.dtype(dtype).name
    assert record["vectors"]["documents"] == {"rows": 13, "dim": DIM, "type": name}
    assert record["counts"] == {"vectors_of_other_documents": 1, "vectors_of_other_queries": 1}
    found = [given.take(0), given.take(1), given.take()]
    expected = [np.array([*each.values()]).astype(dtype).astype(np.float32) for each in given.of.values()]
    assert np.array_equal(np.concatenate(found[:2]), expected[0])
    assert np.array_equal(found[2], expected[1])
    chunk = given.path(CHUNK_VECTORS, chunk=0)
    taken = read_json(record_of(chunk))
    assert taken["bytes"] == {"index": chunk.stat().st_size}
    assert (taken["seconds"], taken["made"]) == ({}, {"precision": "unknown"})
    assert taken["inputs"][GIVEN_VECTORS(**NAMES)] == file_digest(given.path(GIVEN_VECTORS))


def _saved(array: np.ndarray) -> Callable[[Path], object]:
    return lambda folder: np.save(folder / "documents.npy", array, allow_pickle=True)


def _bytes(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


TABLE = np.ones((12, DIM), np.float32)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            _saved(np.array([[Trap(Path("unpickled"))]] * 12, object)),
            "documents.npy: expected float16, float32, float64 of shape (texts, dimensions), found object",
        ),
        (
            _bytes("documents.npy", lambda _: pickle.dumps(Trap(Path("unpickled")))),
            "documents.npy: expected a table of numbers as numpy.save",
        ),
        (_bytes("documents.npy", lambda _: b""), "documents.npy: expected a table of numbers as numpy.save writes it, found"),
        (_bytes("documents.npy", lambda old: old[:-1]), "documents.npy: found 367 bytes, but 368 are expected by its header"),
        (_bytes("documents.npy", lambda old: old + b"\0"), "documents.npy: found 369 bytes, but 368 are expected by its header"),
        (
            _bytes("documents.npy", lambda old: old.replace(b"(12, 5)", b"(-1, 5)")),
            "documents.npy: expected",
        ),
        (
            _saved(TABLE.astype(np.int64)),
            "documents.npy: expected float16, float32, float64 of shape (texts, dimensions), found int64",
        ),
        (
            _saved(TABLE.view("V4")),
            "documents.npy: expected float16, float32, float64 of shape (texts, dimensions), found void32 of",
        ),
        (
            _saved(TABLE[:, 0]),
            "documents.npy: expected float16, float32, float64 of shape (texts, dimensions), found float32 of shape (12,)",
        ),
        (_saved(TABLE[:, :0]), "documents.npy: expected"),
        (_saved(TABLE[1:]), "documents.npy: found 11 vectors, but {}/documents.txt has 12 ids; one id a line was expected"),
        (
            _saved(TABLE[:, 1:]),
            "documents.npy has 4 dimensions but {}/queries.npy has 5 dimensions; vectors of queries and documents",
        ),
        (
            _bytes("documents.txt", lambda old: old.replace(b"d3\n", b"d4\n")),
            "documents.txt:9: the id 'd4' is in line 8 already; one",
        ),
        (
            _bytes("documents.txt", lambda old: old.replace(b"d3\n", b"d99\n")),
            "documents.txt: 1 of 12 documents have no vector, first 'd3'",
        ),
        (
            _bytes("queries.txt", lambda old: old.replace(b"q", b"x")),
            "queries.txt: 3 of 3 queries have no vector, first 'q0'; are these",
        ),
        (_bytes("documents.txt", lambda old: old.replace(b"d3\n", b"\n")), "documents.txt:9: the line is empty; expected the id"),
        (
            _bytes("documents.txt", lambda old: old.replace(b"\n", b"\r\n")),
            "documents.txt: found a carriage return; end lines with a",
        ),
        (
            _bytes("documents.txt", lambda old: old.replace(b"d3", b"\xff")),
            "documents.txt: expected ids in UTF-8, one a line; convert",
        ),
    ],
    ids=[
        *("objects", "pickle", "empty", "truncated", "longer", "header", "integers", "opaque", "one axis", "no dimension"),
        *("too few", "dimensions", "twice", "missing", "another split", "empty line", "carriage return", "no UTF-8"),
    ],
)
def test_what_is_no_vectors_of_this_corpus_is_refused(
    given: Given, change: Callable[[Path], object], says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    change(given.folder)
    with refused(DataError, f"{given.folder}/{says.format(given.folder)}"):
        given.check()
    assert not (tmp_path / "unpickled").exists()
    assert not given.path(GIVEN_VECTORS).exists()


@pytest.mark.parametrize(("value", "dtype"), [(np.nan, np.float32), (-np.inf, np.float16), (1e39, np.float64)])
def test_a_value_that_is_not_finite_is_refused_with_its_text(given: Given, value: float, dtype: Any) -> None:
    vectors = {key: each.astype(dtype) for key, each in given.of["documents"].items()}
    vectors["d11"][3] = value
    given.write("documents", vectors, dtype)
    given.check()
    assert len(given.take(0)) == 10
    problem = "row 0, of the text 'd11', holds infinity or not-a-number in float32; compute this vector again"
    with refused(DataError, f"{given.folder}/documents.npy: {problem}"):
        given.take(1)
    assert not given.path(CHUNK_VECTORS, chunk=1).exists()


def test_vectors_of_zeros_are_counted_and_named_since_a_file_may_be_unfinished(
    given: Given, caplog: pytest.LogCaptureFixture
) -> None:
    given.write("documents", {key: each * (key not in ("d0", "d11")) for key, each in given.of["documents"].items()})
    given.check()
    with caplog.at_level(logging.WARNING):
        given.take(0)
        given.take()
    assert caplog.messages == [f"{given.folder / 'documents.npy'}: 1 of 10 vectors are zero; was the file written to its end?"]
    assert read_json(record_of(given.path(CHUNK_VECTORS, chunk=0)))["counts"] == {"zero_vectors_of_documents": 1}
    assert "counts" not in read_json(record_of(given.path(QUERY_VECTORS)))


@pytest.mark.parametrize("name", ["documents.npy", "documents.txt"])
def test_a_file_that_was_replaced_after_the_check_is_refused(given: Given, name: str) -> None:
    """Here by vectors or ids in another order, which nothing else would tell."""
    given.check()
    path = given.folder / name
    if name == "documents.npy":
        np.save(path, np.load(path)[::-1])
    else:
        path.write_text("".join(sorted(path.read_text().splitlines(keepends=True))))
    with refused(DataError, f"{path}: sha256 {file_digest(path)}, but {given.path(GIVEN_VECTORS)} has "):
        given.take(0)
    assert not given.path(CHUNK_VECTORS, chunk=0).exists()
