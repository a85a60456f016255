"""The pool of unjudged documents, beside what a loop over the runs finds."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.records import read_json
from beirflow.extensions.judging.pool import pool_unjudged
from call_with_fields import call
from results_writer import write_metrics, write_run
from run_results import RunResults

DOCUMENTS = {f"d{number}": f"text {number}" for number in range(30)}
QUERIES = {"q0": "first?", "q1": "second?", "unjudged": "nobody judged this"}
QRELS = {"q0": {"d0": 2, "d1": 0}, "q1": {"d9": 1}}
RUNS = {
    "x": {"q0": ["d0", "d5", "d6", "d7"], "q1": ["d9", "d1", "d2", "d3"], "unjudged": ["d8"]},
    "y": {"q0": ["d5", "d1", "d8", "d4"], "q1": ["d1"]},
}
DEPTH = 3


def pool(folder: Path, *, changed: bool = False, before: str = "") -> list[dict[str, object]]:
    results = RunResults(folder, DOCUMENTS, QUERIES, qrels=QRELS)
    paths = []
    for system, ranked in RUNS.items():
        run = folder / f"runs/{system}.parquet"
        paths.append((run, *write_metrics(folder, system, "small", {"NDCG@10": [0.5] * 2}, inputs={run: write_run(run, ranked)})))
    for run, *_ in paths if changed else ():
        pq.write_table(pq.read_table(run).slice(1), run)
    read = {"run_paths": [str(run) for run, *_ in paths], "means_paths": [means for _, means, _ in paths]}
    written = {"pool_path": str(folder / "pool.jsonl"), "record_path": str(folder / "pool.json")}
    if before:
        (folder / "pool.jsonl").write_text(before, encoding="utf-8")
    call(pool_unjudged, dataset="small", **results.corpus_paths, **read, **written, pool_depth=DEPTH, job=results.job)
    return [json.loads(line) for line in (folder / "pool.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_pool_has_every_unjudged_document_of_the_first_ranks_once(tmp_path: Path) -> None:
    lines = pool(tmp_path)
    expected = {
        (query, doc_id)
        for of_queries in RUNS.values()
        for query, ranked in of_queries.items()
        for doc_id in ranked[:DEPTH]
        if query in QRELS and doc_id not in QRELS[query]
    }
    assert sorted((line["query_id"], line["doc_id"]) for line in lines) == sorted(expected)
    assert all(line["text"] == DOCUMENTS[str(line["doc_id"])] and line["grade"] is None for line in lines)
    assert {(line["query_id"], line["query"]) for line in lines} == {("q0", "first?"), ("q1", "second?")}
    # No line says which system found it, and the order is of no run.
    assert {key for line in lines for key in line} == {"query_id", "query", "doc_id", "title", "text", "grade"}
    found = [line["doc_id"] for line in lines if line["query_id"] == "q0"]
    assert found != sorted(map(str, found))
    assert [line["query_id"] for line in lines] in [["q0"] * 3 + ["q1"] * 2, ["q1"] * 2 + ["q0"] * 3]
    record = read_json(tmp_path / "pool.json")
    assert (record["depth"], record["systems"], record["grades"]) == (DEPTH, ["x", "y"], [0, 1, 2])
    assert record["counts"] == {"pairs": 5, "queries": 2}
    assert record["inputs"]["runs/x.parquet"] == file_digest(tmp_path / "runs/x.parquet")


def filled(lines: list[dict[str, object]], **grades: int) -> str:
    return "".join(json.dumps({**line, "grade": grades.get(str(line["doc_id"]))}) + "\n" for line in lines)


def test_grades_that_were_filled_in_stay_though_the_pool_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = pool(tmp_path)
    monkeypatch.setitem(RUNS, "x", {"q0": ["d0", "d5", "d6", "d7"]})  # which no longer finds d2
    lines = pool(tmp_path / "again", before=filled(before, d5=2, d2=0))
    assert {line["doc_id"]: line["grade"] for line in lines if line["grade"] is not None} == {"d5": 2, "d2": 0}
    assert lines[-1]["doc_id"] == "d2"
    assert [line for line in before if line["doc_id"] == "d5"] == [
        {**line, "grade": None} for line in lines if line["doc_id"] == "d5"
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"query_id": "q0"', "line 6: JSONDecodeError"),
        ('{"query_id": "q0", "grade": 1}', "line 6: expected a JSON object with query_id, query"),
        (json.dumps(dict.fromkeys(("query_id", "query", "doc_id", "title", "text"), "a") | {"grade": "1"}), "the grade '1'"),
        (json.dumps(dict.fromkeys(("query_id", "query", "doc_id", "title", "text"), 1) | {"grade": 1}), "expected texts in"),
    ],
)
def test_a_line_that_is_none_is_named_and_the_file_stays(tmp_path: Path, line: str, words: str) -> None:
    path, content = tmp_path / "again/pool.jsonl", filled(pool(tmp_path), d5=2) + line
    with pytest.raises(DataError, match=words):
        pool(tmp_path / "again", before=content)
    assert path.read_text(encoding="utf-8") == content


def test_a_run_that_was_changed_after_its_evaluation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="sha256"):
        pool(tmp_path, changed=True)
