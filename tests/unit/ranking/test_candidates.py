"""Candidates are read as they were written, or not at all."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steps
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.records import Job, write_json
from beirflow.ranking.candidates import COLUMNS, Candidates
from beirflow.ranking.ranking import Hits

HITS = (np.array([0, 0, 2], np.int32), np.array([5, 1, 0], np.int32), np.array([2.5, -0.1, 1e-30], np.float32))
NAME = "candidates/bm25/small/chunk-4"
INPUTS = {"corpora/é/documents.parquet": "0" * 64, "postings/bm25/é/chunk-4.arrow": "1" * 64}
SOURCES: dict[str, Any] = {"postings/bm25/é/chunk-4.json": {}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Candidates on disk."""
    path = tmp_path / f"{NAME}.arrow"
    steps.write_recorded(Candidates, path, HITS, Job(tmp_path), inputs=INPUTS, sources=SOURCES)
    return path


def assert_the_same(found: Hits, expected: Hits) -> None:
    for column, wanted in zip(found, expected, strict=True):
        assert column.dtype == wanted.dtype
        np.testing.assert_array_equal(column, wanted)


NUMBERS = st.integers(0, 2**31 - 1)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.floats(width=32, allow_nan=False)), max_size=20))
def test_any_candidates_are_read_bit_by_bit(tmp_path_factory: pytest.TempPathFactory, hits: list[tuple[int, int, float]]) -> None:
    columns = list(zip(*hits, strict=True)) or [(), (), ()]
    query, row, score = (np.array(column, kind) for column, kind in zip(columns, (np.int32, np.int32, np.float32), strict=True))
    folder = tmp_path_factory.getbasetemp()
    steps.write_recorded(Candidates, folder / "any.arrow", (query, row, score), Job(folder), inputs={}, sources={})
    assert_the_same(Candidates(folder / "any.arrow").read(), (query, row, score))


def assert_refused(candidates: Candidates) -> None:
    for read in (candidates.check, candidates.read):
        with pytest.raises(DataError) as caught:
            read()
        assert str(caught.value).startswith(f"{candidates.path}: ")
        assert str(caught.value).endswith(f"rm {candidates.path}")


@pytest.mark.parametrize("content", [b"", b"garbage" * 100, b"PK\x05\x06" + bytes(18), b"\x93NUMPY", pickle.dumps({"query": 1})])
def test_what_are_no_candidates_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert_refused(Candidates(path))


@pytest.mark.parametrize("left_out", COLUMNS.names)
def test_a_column_that_is_missing_is_refused(path: Path, left_out: str) -> None:
    table = pa.table(list(HITS), schema=COLUMNS).drop_columns([left_out])
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    assert_refused(Candidates(path))


def test_a_run_names_no_candidates_and_they_name_the_records_that_are_still_there(path: Path, tmp_path: Path) -> None:
    assert (Candidates(path).named, Candidates(path).here) == ({}, {})
    source = tmp_path / "postings/bm25/é/chunk-4.json"
    source.parent.mkdir(parents=True)
    write_json(source, {})
    assert Candidates(path).here == {"postings/bm25/é/chunk-4.json": file_digest(source)}
