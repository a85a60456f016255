"""Candidates are read as they were written, or not at all."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.records import Job, read_json, write_record
from beirflow.ranking.candidates import Candidates, Origin, origin_of, read_candidates, write_candidates

CANDIDATES = Candidates(
    query=np.array([0, 0, 2], np.int32),
    row=np.array([5, 1, 0], np.int32),
    score=np.array([2.5, -0.1, 1e-30], np.float32),
    self_matches=3,
)
FOUND = Origin(
    system="bm25",
    chunk=4,
    top_k=10,
    inputs={"corpora/é/documents.parquet": "0" * 64, "postings/bm25/é/chunk-4.npz": "1" * 64},
    sources={"postings/bm25/é/chunk-4.json": {"seconds": {"index": 0.1 + 0.2}, "made": {"versions": ["1", "2"]}}},
    seconds=1 / 3,
    made={"threads": 2},
    job="search_chunk/bm25/é/chunk-4",
    code="c0de",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Candidates on disk."""
    write_candidates(tmp_path / "deep/chunk-4.npz", CANDIDATES, FOUND)
    return tmp_path / "deep/chunk-4.npz"


def assert_the_same(found: Candidates, expected: Candidates) -> None:
    for name in ("query", "row", "score"):
        column, wanted = getattr(found, name), getattr(expected, name)
        assert column.dtype == wanted.dtype
        np.testing.assert_array_equal(column, wanted)
    assert (found.self_matches, type(found.self_matches)) == (expected.self_matches, int)


def test_what_was_written_is_read_with_where_it_comes_from(path: Path) -> None:
    candidates, found = read_candidates(path)
    assert_the_same(candidates, CANDIDATES)
    assert found == FOUND
    assert [file.name for file in path.parent.iterdir()] == [path.name]


NUMBERS = st.integers(0, 2**31 - 1)
HITS = st.lists(st.tuples(NUMBERS, NUMBERS, st.floats(width=32, allow_nan=False)), max_size=20)


@given(hits=HITS, self_matches=st.integers(0, 2**31), seconds=st.floats(0, 1e9))
def test_any_candidates_are_read_bit_by_bit(
    tmp_path_factory: pytest.TempPathFactory, hits: list[tuple[int, int, float]], self_matches: int, seconds: float
) -> None:
    columns = list(zip(*hits, strict=True)) or [(), (), ()]
    arrays = [np.array(column, kind) for column, kind in zip(columns, (np.int32, np.int32, np.float32), strict=True)]
    path, written = tmp_path_factory.getbasetemp() / "any.npz", Candidates(*arrays[:3], self_matches)
    found = Origin(system="s", chunk=0, top_k=1, inputs={}, sources={}, seconds=seconds)
    write_candidates(path, written, found)
    candidates, read = read_candidates(path)
    assert_the_same(candidates, written)
    assert read == found


def test_the_same_candidates_are_the_same_bytes(path: Path, tmp_path: Path) -> None:
    write_candidates(tmp_path / "again.npz", CANDIDATES, FOUND)
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()


def assert_refused(path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read_candidates(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).endswith(f"rm {path}")


@pytest.mark.parametrize("content", [b"", b"garbage" * 100, b"PK\x05\x06" + bytes(18), b"\x93NUMPY", pickle.dumps({"query": 1})])
def test_what_are_no_candidates_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert_refused(path)


def test_a_file_that_was_cut_anywhere_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    for length in range(0, len(whole), 19):
        path.write_bytes(whole[:length])
        assert_refused(path)


def test_a_changed_byte_is_refused_or_changes_nothing(path: Path) -> None:
    """Nothing in bytes that nobody reads, such as the time of a member. Every seventh byte is changed."""
    whole, refusals = path.read_bytes(), 0
    for position in range(0, len(whole), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        try:
            candidates, found = read_candidates(path)
        except DataError:
            refusals += 1
        else:
            assert_the_same(candidates, CANDIDATES)
            assert found == FOUND
    assert refusals > len(whole) // 14


@pytest.mark.parametrize(
    "changes",
    [
        *({name: None} for name in (*Candidates._fields, "found")),
        *({"found": np.array(text)} for text in ("", "{}", "[]", "null", '{"system": "s"}', "not json")),
        {"score": np.array([Path("x")], dtype=object)},  # which must not be unpickled
    ],
)
def test_a_part_that_is_missing_or_something_else_is_refused(path: Path, changes: dict[str, Any]) -> None:
    with np.load(path) as file:
        parts: dict[str, Any] = {**file, **changes}
    np.savez(path, **{name: part for name, part in parts.items() if part is not None})
    assert_refused(path)


def test_candidates_that_are_not_there_are_another_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_candidates(tmp_path / "nothing.npz")


def test_candidates_name_what_was_searched_and_what_that_was_made_from(tmp_path: Path) -> None:
    """So that their run still names the corpus and the model when what is stored of texts has been deleted."""
    job = Job(tmp_path, "search_chunk/a", "c0de")
    stored, record_path = tmp_path / "postings/a/chunk-0.npz", tmp_path / "postings/a/chunk-0.json"
    stored.parent.mkdir(parents=True)
    stored.write_bytes(b"stored")
    documents, took = tmp_path / "corpora/x/documents.parquet", {"seconds": {"index": 1.5}, "counts": {"tokens": 3}}
    write_record(
        record_path, job, inputs={documents: "0" * 64}, outputs={stored: file_digest(stored)}, made={"threads": 2}, **took
    )
    facts: dict[str, Any] = {"system": "a", "chunk": 0, "top_k": 1, "seconds": 0.5}
    read = {"corpora/x/queries.parquet": "1" * 64}
    found = origin_of(job, searched={str(stored): read_json(record_path)}, read=read, **facts)
    assert found == Origin(
        **facts,
        inputs={
            **read,
            "corpora/x/documents.parquet": "0" * 64,
            "postings/a/chunk-0.npz": file_digest(stored),
            "postings/a/chunk-0.json": file_digest(record_path),
        },
        sources={"postings/a/chunk-0.json": {"made": {"threads": 2}, **took, "job": "search_chunk/a"}},
        job="search_chunk/a",
        code="c0de",
    )
    assert origin_of(Job(tmp_path), searched={}, **facts) == Origin(**facts, inputs={}, sources={})
