import gzip
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from golden.same import differences, remove_pages

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
        ({"measures": {"NDCG@10": 0.5}}, "measures: MRR@10: missing"),
        ({"counts": [1, 2, 3]}, "counts: '[1, 2, 3]', expected '[1, 2]'"),
        ({"counts": [1, True]}, "counts: 1: 'True', expected '2'"),
        ({"device": "cpu"}, "device: 'cpu', expected 'None'"),
        ({"more": 1}, "more: new"),
    ],
)
def test_a_value_of_a_record_differs(sides, change, expected):
    (sides[1] / "scores.json").write_text(json.dumps(RECORD | change))
    assert list(differences(*sides, pages=False)) == [f"scores.json: {expected}"]


def test_each_difference_of_a_record_is_a_line_so_that_an_intended_one_hides_no_other(sides):
    (sides[1] / "scores.json").write_text(json.dumps(RECORD | {"counts": [3, 4], "device": "cpu"}))
    assert len(list(differences(*sides, pages=False))) == 3


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (pa.table(TABLE | {"score": [0.25, 0.5]}), "score: other values"),
        (pa.table({"system": TABLE["system"], "score": pa.array(TABLE["score"], pa.float32())}), "schema"),
        (pa.table(TABLE).slice(1), "1 rows, expected 2"),
        (pa.table(TABLE).replace_schema_metadata(METADATA | {"made": "otherwise"}), "metadata: made: 'otherwise', expected 'so'"),
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


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("system,NDCG@10,seconds\nbm25,0.5,1.5\ndense,0.76,2.5\n", "line 3, NDCG@10: '0.76', expected '0.75'"),
        ("system,NDCG@10,seconds\nbm25,0.5,1.5\n", "2 lines, expected 3"),
        ("system,seconds,NDCG@10\nbm25,1.5,0.5\ndense,2.5,0.75\n", "columns"),
    ],
)
def test_a_table_of_text_differs(sides, table, expected):
    (sides[1] / "summary.csv").write_text(table)
    (found,) = differences(*sides, pages=False)
    assert found.startswith(f"summary.csv: {expected}")


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


def test_pages_differ_only_where_they_are_compared(sides):
    (sides[1] / "report.html").write_text(PAGE.replace("0.5000", "0.5001"))
    assert list(differences(*sides, pages=False)) == []
    (found,) = differences(*sides, pages=True)
    assert found.startswith("report.html: line 3: ")


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


def test_the_copy_of_the_code_is_not_compared_but_its_configuration(sides):
    for folder, name in zip(sides, ("workflow", "src"), strict=True):
        (folder / "code").mkdir()
        (folder / f"code/{name}.py").touch()
        (folder / "code/configuration.yaml").write_text("top_k: 10\n")
        parts = [{"@id": f"code/{name}.py"}, {"@id": "run.trec.gz"}]
        (folder / "ro-crate-metadata.json").write_text(json.dumps({"@graph": [{"@id": "./", "hasPart": parts}]}))
    assert list(differences(*sides, pages=True)) == []
    (sides[1] / "code/configuration.yaml").write_text("top_k: 20\n")
    assert list(differences(*sides, pages=True)) == ["code/configuration.yaml: line 1: 'top_k: 20', expected 'top_k: 10'"]


def test_pages_are_removed_and_results_stay(sides):
    remove_pages(sides[0])
    assert not (sides[0] / "report.html").exists()
    assert (sides[0] / "summary.csv").exists()


@pytest.mark.parametrize("where", ["src", "workflow"])
def test_the_package_is_imported_from_the_checkout_alone(tmp_path, where):
    for folder in (tmp_path / "checkout" / where, tmp_path / "installed"):
        (folder / "beirflow").mkdir(parents=True)
        (folder / "beirflow/__init__.py").touch()
    printed = imported_from(tmp_path / "checkout", tmp_path / "installed")
    assert printed.stdout.strip() == str(tmp_path / "checkout" / where / "beirflow/__init__.py")


def test_no_other_package_is_imported_in_its_place(tmp_path):
    (tmp_path / "installed/beirflow").mkdir(parents=True)
    (tmp_path / "installed/beirflow/__init__.py").touch()
    assert "there is no beirflow in src or workflow" in imported_from(tmp_path, tmp_path / "installed").stderr


def imported_from(checkout: Path, installed: Path) -> subprocess.CompletedProcess[str]:
    """Import the package in a process with another one on its path."""
    path = os.pathsep.join((str(Path(__file__).parents[1] / "golden/only_from"), str(installed)))
    environment = os.environ | {"PYTHONPATH": path, "BEIRFLOW_CHECKOUT": str(checkout)}
    command = [sys.executable, "-c", "import beirflow; print(beirflow.__file__)"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
