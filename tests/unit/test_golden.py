import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from golden.same import differences

RECORD: dict[str, Any] = {
    "measures": {"NDCG@10": 0.5, "MRR@10": float("nan")},
    "seconds": {"search": 1.0},
    "code": "c0de",
    "counts": [1, 2],
    "device": None,
}
TABLE = {"system": ["bm25", "dense"], "score": [0.25, float("nan")]}
METADATA = {"made": "so", "record": '{"code": "c0de", "rows": 2}'}
PAGE = "<p>Made 2026-11-27T20:57:37+00:00</p>\n<p>NDCG@10 0.5000</p>\n"


def write_results(folder: Path) -> Path:
    """Results with a file of each kind."""
    (folder / "logs").mkdir(parents=True)
    (folder / "logs/evaluate.log").write_text("0.1 s")
    (folder / "scores.json").write_text(json.dumps(RECORD))
    pq.write_table(pa.table(TABLE).replace_schema_metadata(METADATA), folder / "scores.parquet")
    (folder / "summary.csv").write_text("system,NDCG@10,seconds\nbm25,0.5,1.5\ndense,0.75,2.5\n")
    (folder / "run.trec.gz").write_bytes(gzip.compress(b"q1 Q0 d1 1 0.5 bm25\n"))
    (folder / "vectors.npy").write_bytes(b"\x93NUMPY 1")
    (folder / "report.html").write_text(PAGE)
    return folder


@pytest.fixture
def sides(tmp_path):
    """Two folders of equal results."""
    return write_results(tmp_path / "before"), write_results(tmp_path / "after")


def test_equal_results_do_not_differ(sides):
    assert list(differences(*sides, pages=True)) == []


def test_what_is_measured_does_not_differ(sides):
    after = sides[1]
    (after / "logs/evaluate.log").write_text("0.2 s")
    (after / "scores.json").write_text(json.dumps(RECORD | {"seconds": {"search": 2.0}, "code": "0ther"}))
    (after / "summary.csv").write_text("system,NDCG@10,seconds\nbm25,0.5,9.5\ndense,0.75,2.5\n")
    (after / "report.html").write_text(PAGE.replace("20:57:37", "21:00:00"))
    assert list(differences(*sides, pages=True)) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"measures": RECORD["measures"] | {"NDCG@10": 0.50000001}}, "measures: NDCG@10: '0.50000001', expected '0.5'"),
        ({"counts": [1, 2, 3]}, "counts: '[1, 2, 3]', expected '[1, 2]'"),
        ({"more": 1}, "more: new"),
    ],
)
def test_a_value_of_a_record_differs(sides, change, expected):
    (sides[1] / "scores.json").write_text(json.dumps(RECORD | change))
    assert list(differences(*sides, pages=False)) == [f"scores.json: {expected}"]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (pa.table(TABLE | {"score": [0.25, 0.5]}), "score: other values"),
        (pa.table({"system": TABLE["system"], "score": pa.array(TABLE["score"], pa.float32())}), "schema"),
        (
            pa.table(TABLE).replace_schema_metadata(METADATA | {"record": '{"code": "0ther", "rows": 3}'}),
            "metadata: record: rows: '3', expected '2'",
        ),
    ],
)
def test_a_table_of_parquet_differs_in_values_schema_and_rows(sides, table, expected):
    if not table.schema.metadata:
        table = table.replace_schema_metadata(METADATA)
    pq.write_table(table, sides[1] / "scores.parquet")
    (found,) = differences(*sides, pages=False)
    assert found.startswith(f"scores.parquet: {expected}")


def test_other_files_differ_by_bytes_and_missing_ones_by_name(sides):
    before, after = sides
    (after / "run.trec.gz").write_bytes(gzip.compress(b"q1 Q0 d1 1 0.6 bm25\n"))
    (after / "vectors.npy").write_bytes(b"\x93NUMPY 2")
    (before / "logs/evaluate.log").unlink()
    (after / "scores.json").unlink()
    assert list(differences(*sides, pages=False)) == [
        "scores.json: only in the earlier results",
        "logs/evaluate.log: only in the later results",
        "run.trec.gz: line 1: 'q1 Q0 d1 1 0.6 bm25', expected 'q1 Q0 d1 1 0.5 bm25'",
        "vectors.npy: other bytes",
    ]


def test_a_digest_is_compared_by_the_file_that_has_it(sides):
    for folder, seconds in zip(sides, (1.0, 2.0), strict=True):
        text = json.dumps(RECORD | {"seconds": seconds})
        (folder / "scores.json").write_text(text)
        digests = {"inputs": {"scores.json": hashlib.sha256(text.encode()).hexdigest()}}
        (folder / "summary.json").write_text(json.dumps(digests))
    assert list(differences(*sides, pages=False)) == []
    other = hashlib.sha256((sides[1] / "run.trec.gz").read_bytes()).hexdigest()
    (sides[1] / "summary.json").write_text(json.dumps({"inputs": {"scores.json": other}}))
    (found,) = differences(*sides, pages=False)
    assert found == "summary.json: inputs: scores.json: '<digest of run.trec.gz>', expected '<digest of scores.json>'"
