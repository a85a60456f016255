"""Further judgements: what is read, and what is refused."""

from pathlib import Path

import pyarrow as pa
import pytest
from beirflow.files.errors import DataError
from beirflow.paper.extra_judgements import read_extra

SCHEMA = pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), ("score", pa.int32())])
QRELS = pa.table({"query_id": ["q1", "q2"], "doc_id": ["a", "b"], "score": [1, 0]}, schema=SCHEMA)


def test_judgements_are_put_to_those_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "more").write_text("q1 0 b 2\n\nq2\t0\tdöc -1\n", encoding="utf-8")
    table = read_extra(str(tmp_path / "more"), QRELS)
    assert table.schema == SCHEMA
    assert table.slice(2).to_pylist() == [
        {"query_id": "q1", "doc_id": "b", "score": 2},
        {"query_id": "q2", "doc_id": "döc", "score": -1},
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("q1 0 c", "line 2: 3 fields"),
        ("q1 0 c 1 more", "5 fields"),
        ("q1 0 c 1.0", "the grade '1.0'"),
        ("q1 0 c 1001", "the grade '1001'"),
        ("q1 0 c ²", "the grade '²'"),
        ("q1 0 c --1", "the grade '--1'"),
        ("q9 0 c 1", "the query 'q9' has no judgements"),
        ("q1 0 a 1", "'a' is judged for the query 'q1' already"),
        ("q2 0 c 1", "'c' is judged for the query 'q2' already"),
    ],
)
def test_what_is_no_judgement_is_refused(tmp_path: Path, line: str, problem: str) -> None:
    (tmp_path / "more").write_text(f"q2 0 c 1\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError, match=problem):
        read_extra(str(tmp_path / "more"), QRELS)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "more").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="not text in UTF-8"):
        read_extra(str(tmp_path / "more"), QRELS)


def test_a_filled_pool_is_read_as_judgements(tmp_path: Path) -> None:
    (tmp_path / "pool.jsonl").write_text('{"query_id": "q1", "query": "?", "doc_id": "\u2028 b", "grade": 2}\n', encoding="utf-8")
    table = read_extra(str(tmp_path / "pool.jsonl"), QRELS)
    assert table.slice(2).to_pylist() == [{"query_id": "q1", "doc_id": "\u2028 b", "score": 2}]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"query_id": "q1", "doc_id": "c", "grade": null}', "line 2: its grade is null"),
        ('{"query_id": "q1", "doc_id": "c", "grade": true}', "the grade True"),
        ('{"query_id": "q1", "doc_id": "c", "grade": "1"}', "the grade '1'"),
        ('{"query_id": "q1", "doc_id": "c"}', "KeyError: 'grade'"),
        ("[1]", "TypeError"),
        ("q1 0 c 1", "JSONDecodeError"),
        ('{"query_id": "q1", "doc_id": "a", "grade": 1}', "is judged for the query 'q1' already"),
    ],
)
def test_a_pool_that_was_filled_in_by_half_or_wrongly_is_refused(tmp_path: Path, line: str, problem: str) -> None:
    (tmp_path / "pool.jsonl").write_text(f'{{"query_id": "q2", "doc_id": "c", "grade": 1}}\n{line}\n', encoding="utf-8")
    with pytest.raises(DataError, match=problem):
        read_extra(str(tmp_path / "pool.jsonl"), QRELS)
