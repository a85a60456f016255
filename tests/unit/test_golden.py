"""Results of two versions differ in what is named, and not in what is measured."""

import gzip
import hashlib
import json
from collections.abc import Callable
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
Change = Callable[[Path, Path], object]
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
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders of equal results."""
    return write_results(tmp_path / "before"), write_results(tmp_path / "after")


def change_what_is_measured(before: Path, after: Path) -> None:
    (after / "logs/evaluate.log").write_text("0.2 s")
    (after / "scores.json").write_text(json.dumps(RECORD | {"seconds": {"search": 2.0}, "code": "0ther"}))
    (after / "summary.csv").write_text("system,NDCG@10,seconds\nbm25,0.5,9.5\ndense,0.75,2.5\n")
    (after / "report.html").write_text(PAGE.replace("20:57:37", "21:00:00"))


def change_bytes_and_names(before: Path, after: Path) -> None:
    (after / "run.trec.gz").write_bytes(gzip.compress(b"q1 Q0 d1 1 0.6 bm25\n"))
    (after / "vectors.npy").write_bytes(b"\x93NUMPY 2")
    (before / "logs/evaluate.log").unlink()
    (after / "scores.json").unlink()


def record(**change: Any) -> Change:
    return lambda _, after: (after / "scores.json").write_text(json.dumps(RECORD | change))


def table(metadata: Any = METADATA, **change: Any) -> Change:
    written = pa.table(TABLE | change).replace_schema_metadata(metadata)
    return lambda _, after: pq.write_table(written, after / "scores.parquet")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda *_: None, []),
        (change_what_is_measured, []),
        (
            record(measures=RECORD["measures"] | {"NDCG@10": 0.50000001}),
            ["scores.json: measures: NDCG@10: '0.50000001', expected '0.5'"],
        ),
        (record(counts=[1, 2, 3]), ["scores.json: counts: '[1, 2, 3]', expected '[1, 2]'"]),
        (record(more=1), ["scores.json: more: new"]),
        (table(score=[0.25, 0.5]), ["scores.parquet: score: other values"]),
        (table(score=pa.array(TABLE["score"], pa.float32())), ["scores.parquet: schema"]),
        (
            table(METADATA | {"record": '{"code": "0ther", "rows": 3}'}),
            ["scores.parquet: metadata: record: rows: '3', expected '2'"],
        ),
        (
            change_bytes_and_names,
            [
                "scores.json: only in the earlier results",
                "logs/evaluate.log: only in the later results",
                "run.trec.gz: line 1: 'q1 Q0 d1 1 0.6 bm25', expected 'q1 Q0 d1 1 0.5 bm25'",
                "vectors.npy: other bytes",
            ],
        ),
    ],
)
def test_what_differs_is_named_and_nothing_else(sides: tuple[Path, Path], change: Change, expected: list[str]) -> None:
    change(*sides)
    found = list(differences(*sides, pages=True))
    assert [line[: len(said)] for line, said in zip(found, expected, strict=True)] == expected


def test_a_digest_is_compared_by_the_file_that_has_it(sides: tuple[Path, Path]) -> None:
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
