"""Records say the same things in the same words, and are read only if they are whole."""

import json
from pathlib import Path
from typing import Any

import pytest

from beirflow.core.errors import DataError
from beirflow.core.records import FORMAT, Job, check_inputs, read_json, together, write_json, write_record

ZEROS, ONES = "0" * 64, "1" * 64


def test_json_is_readable_by_people_and_keeps_every_digit(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    value = {"NDCG@10": 0.1 + 0.2, "name": "Größe", "none": None, "list": [1, True]}
    write_json(path, value)
    assert read_json(path) == value
    assert '  "NDCG@10": 0.30000000000000004,\n  "name": "Größe",\n' in path.read_text(encoding="utf-8")
    assert path.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize(("value", "error"), [(float("nan"), ValueError), (float("inf"), ValueError), (object(), TypeError)])
def test_json_that_no_reader_understands_is_refused_and_the_old_file_stays(tmp_path: Path, value: object, error: type) -> None:
    path = tmp_path / "out.json"
    write_json(path, {"old": 1})
    with pytest.raises(error):
        write_json(path, {"mean": value})
    assert read_json(path) == {"old": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


@pytest.mark.parametrize("change", [b"1", b" ", b"\n", b"", b"}"])
def test_a_record_that_differs_in_one_byte_and_what_is_none_are_refused(tmp_path: Path, change: bytes) -> None:
    path = tmp_path / "out.json"
    write_json(path, {"mean": 2, "name": "é"})
    whole = path.read_bytes()
    other = [b"", b"{}", b"[]", b"null", b"5", b'"record_sha256"', b"[" * 100_000, b"\xff"]
    for damaged in (*other, *(whole[:position] + change + whole[position + 1 :] for position in range(len(whole)))):
        if damaged != whole:
            path.write_bytes(damaged)
            with pytest.raises(DataError) as caught:
                read_json(path)
            assert str(caught.value).startswith(f"{path}: this is not the record that beirflow wrote; ")
            assert str(caught.value).endswith(f"rm {path}")


def test_a_record_says_everything_in_the_same_words(tmp_path: Path) -> None:
    job = Job(tmp_path, "search_chunk/bm25/scifact/chunk-0", "c0de")
    documents, run, path = (
        tmp_path / name for name in ("corpora/a/documents.parquet", "runs/bm25/a.parquet", "runs/bm25/a.json")
    )
    facts: dict[str, Any] = {"made": {"device": "cpu"}, "seconds": {"search": 0.5}, "counts": {"tokens": 3}, "top_k": 10}
    write_record(path, job, inputs={documents: ZEROS}, outputs={str(run): ONES}, sizes={"index": 7}, **facts)
    digests = {"inputs": {"corpora/a/documents.parquet": ZEROS}, "outputs": {"runs/bm25/a.parquet": ONES}}
    where = {"path": "runs/bm25/a.json", "format": FORMAT}
    assert read_json(path) == {**where, **facts, "bytes": {"index": 7}, **digests, "job": job.name, "code": "c0de"}
    keys = list(json.loads(path.read_text()))
    assert (keys[0], keys[-1]) == ("path", "record_sha256")
    assert str(tmp_path) not in path.read_text()
    write_record(path, Job(tmp_path), inputs={}, outputs={}, counts={})  # what a step does not know is not there
    assert read_json(path) == {**where, "counts": {}, "inputs": {}, "outputs": {}, "job": "", "code": ""}


def test_a_path_below_the_results_is_the_same_however_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for results in ("results", "./results/", "more/../results", tmp_path / "results"):
        job = Job(Path(results))
        for path in ("results/a/b.json", "./results//a/b.json", "results/x/../a/b.json", tmp_path / "results/a/b.json"):
            assert job.below(path) == "a/b.json"
    assert job.below("results/..a/b") == "..a/b"
    assert job.digests({"results/a": ZEROS, Path("results/b/c"): ONES}) == {"a": ZEROS, "b/c": ONES}


@pytest.mark.parametrize("path", ["results/../a", "a", "/etc/passwd", "results-2/a", ".."])
def test_nothing_elsewhere_can_be_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    job, record = Job(Path("results")), Path("results/out.json")
    for place, inputs, outputs in ((path, {}, {}), (record, {path: ZEROS}, {}), (record, {}, {path: ZEROS})):
        with pytest.raises(ValueError, match="is not below results"):
            write_record(place, job, inputs=inputs, outputs=outputs)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ([], {}),
        ([{"device": "cpu"}, {"device": "cpu", "driver": "5"}], {"device": "cpu", "driver": "5"}),
        ([{"device": ["B", "C"]}, {"device": "A"}, {"device": ["C"]}], {"device": ["A", "B", "C"]}),
        ([{"threads": 2}, {"threads": 10}], {"threads": [2, 10]}),
    ],
)
def test_equal_facts_of_several_files_are_one_value(made: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    assert together(made) == expected


RECORD: dict[str, Any] = {"system": "bm25", "inputs": {"a/documents.parquet": ZEROS, "a/queries.parquet": ONES}}


@pytest.mark.parametrize(
    ("expected", "facts", "says"),
    [
        ({"a/documents.parquet": ONES}, {}, f"the a/documents.parquet {ZEROS}, but {ONES} is used here"),
        ({"b/documents.parquet": ZEROS}, {}, f"the b/documents.parquet None, but {ZEROS} is used here"),
        ({}, {"system": "other"}, "the system bm25, but other is used here"),
        (RECORD["inputs"], {"family": "dense"}, "the family None, but dense is used here"),
    ],
)
def test_a_file_that_was_made_from_something_else_is_refused(expected: dict[str, str], facts: dict[str, str], says: str) -> None:
    check_inputs("x.json", RECORD, RECORD["inputs"], system="bm25")
    with pytest.raises(DataError) as caught:
        check_inputs("x.json", RECORD, expected, **facts)
    assert str(caught.value).startswith(f"x.json: it was made from {says}; ")
    assert str(caught.value).endswith("rm x.json")
