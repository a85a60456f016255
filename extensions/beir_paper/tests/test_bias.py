"""Bounds for unjudged documents: formulas written out, and the columns of the table."""

import json
from collections.abc import Mapping
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beir_writer import write_corpus_record
from beirflow.core.csv_files import read_named_csv
from beirflow.core.errors import DataError
from beirflow.core.records import Job
from beirflow.data.corpus_files import RELEVANT_FROM
from beirflow.evaluation.extra_judgements import read_extra, with_extra
from beirflow.extensions.beir_paper.bias import COLUMNS, _with_extra, measure_bias, of_pooled
from results_writer import write_metrics, write_run

# Of the query q: h1 and h2 are holes, r2 (grade 2) and r1 (grade 1) are relevant, n is not, and m (grade 1) is not found.
RANKED = {"q": ["h1", "r1", "n", "h2", "r2"], "unjudged": ["h1"]}
JUDGED = {"query_id": ["q", "q", "q", "q", "p"], "doc_id": ["r1", "n", "r2", "m", "x"], "score": [1, -1, 2, 1, 1]}
SCHEMA = pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), ("score", pa.int32())])
QRELS = pa.table(JUDGED, schema=SCHEMA)
TWO = pa.table({"query_id": ["q1", "q2"], "doc_id": ["a", "b"], "score": [2, -1]}, schema=SCHEMA)
IDEAL = 2 / log2(2) + 1 / log2(3) + 1 / log2(4)


ROWS = {"trec-covid": ["trec-covid"], "s": ["s-a", "s-b"]}


def test_measures_of_a_pooled_dataset_are_their_formulas(tmp_path: Path) -> None:
    write_run(tmp_path / "run.parquet", RANKED)
    found = of_pooled(pq.read_table(tmp_path / "run.parquet"), QRELS)
    assert found["unjudged"] == 2 / 20
    assert found["ndcg_condensed"] == pytest.approx((1 / log2(2) + 2 / log2(4)) / IDEAL / 2)
    with_holes = 1 / log2(2) + 1 / log2(3) + 1 / log2(5) + 2 / log2(6)
    ideal = 2 + sum(1 / log2(rank + 1) for rank in range(2, 6))
    assert found["ndcg_holes_relevant"] == pytest.approx(with_holes / ideal / 2)
    # r1 has no irrelevant document above it, r2 one of min(R, N) = 1; R is 3 with the one that is not found.
    assert found["bpref"] == pytest.approx(((1 - 0 / 1) + (1 - 1 / 1)) / 3 / 2)
    # From grade 2 on, r2 alone is relevant, and r1 and n are irrelevant and above it.
    assert of_pooled(pq.read_table(tmp_path / "run.parquet"), QRELS.replace_schema_metadata({RELEVANT_FROM: "2"}))["bpref"] == 0
    with_nuggets = QRELS.append_column("nuggets", pa.array([[True], [False], [False], [True], [True]]))
    assert of_pooled(pq.read_table(tmp_path / "run.parquet"), with_nuggets) == found


def bias(folder: Path, *, grades: dict[str, list[int]], rows: Mapping[str, list[str]] = ROWS, **more: Any) -> pd.DataFrame:
    means, runs, qrels = [], [], {}
    for name, graded in grades.items():
        (folder / name).mkdir()
        qrels[name] = str(folder / name / "qrels.parquet")
        table = pa.table({"query_id": ["q"] * len(graded), "doc_id": [f"d{i}" for i in range(len(graded))], "score": graded})
        pq.write_table(table.set_column(2, "score", table["score"].cast(pa.int32())), qrels[name])
        write_corpus_record(folder / name, folder)
        for system in ("bm25", "tas-b"):
            runs.append(str(folder / f"runs/{system}/{name}.parquet"))
            digest = write_run(Path(runs[-1]), {"q": ["d0", "hole", "d1"]})
            values = {"NDCG@10": [0.5], "Hole@10": [0.1]}
            means.append(write_metrics(folder, system, name, values, inputs={Path(runs[-1]): digest})[0])
    path = str(folder / "bias.csv")
    paths = {"means_paths": means, "run_paths": runs, "qrels_paths": list(qrels.values()), "corpora": list(qrels)}
    measure_bias(**paths, rows=rows, bias_path=path, job=Job(folder), **more)
    return read_named_csv(path).set_index(["dataset", "system"])


def test_only_where_judgements_are_pooled_there_is_more_than_holes(tmp_path: Path) -> None:
    table = bias(tmp_path, grades={"trec-covid": [1, 0], "s-a": [1], "s-b": [1, 1]})
    assert [*table.index.names, *table.columns] == list(COLUMNS)
    assert table.loc[("trec-covid", "bm25"), ["pooled", "hole", "ndcg", "unjudged"]].tolist() == [True, 0.1, 0.5, 0.1]
    assert table.loc[("s", "bm25"), "pooled"] == False  # noqa: E712 - a bool of numpy
    assert np.isnan(table.loc[("s", "bm25"), "bpref"])
    assert table.loc[("s", "tas-b"), "ndcg"] == 0.5


def test_printed_values_stand_beside_the_systems_that_stand_for_those_of_the_paper(tmp_path: Path) -> None:
    table = bias(tmp_path, grades={"trec-covid": [1, 0], "s-a": [1, 0], "s-b": [1, 0]})
    assert table["printed_ndcg_annotated"].dropna().to_dict() == {("trec-covid", "tas-b"): 0.555}
    assert table.loc[("s", "bm25"), "ndcg_condensed"] == table.loc[("trec-covid", "bm25"), "ndcg_condensed"]


def test_a_run_that_was_changed_is_refused(tmp_path: Path) -> None:
    bias(tmp_path, grades={"trec-covid": [1, 0], "s-a": [1], "s-b": [1]})
    run, qrels = tmp_path / "runs/bm25/trec-covid.parquet", tmp_path / "trec-covid/qrels.parquet"
    write_run(run, {"q": ["d1"]})
    means = {"means_paths": [str(tmp_path / "metrics/bm25/trec-covid.json")], "rows": {"trec-covid": ["trec-covid"]}}
    paths = {"run_paths": [str(run)], "qrels_paths": [str(qrels)], "bias_path": str(tmp_path / "again.csv")}
    with pytest.raises(DataError, match="sha256"):
        measure_bias(**means, **paths, corpora=["trec-covid"], job=Job(tmp_path))


def test_further_judgements_stand_beside_those_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "more.qrels").write_text("q 0 hole 1\n")
    extra = {"s-a": str(tmp_path / "more.qrels"), "elsewhere": "nowhere"}
    grades = {"trec-covid": [1, 0], "s-a": [1, 1], "s-b": [1]}
    table = bias(tmp_path, grades=grades, extra_paths=extra)
    assert np.isnan(table.loc[("trec-covid", "bm25"), "extra"])
    # Of a dataset of forums only what all of them have.
    assert np.isnan(table.loc[("s", "bm25"), "ndcg_extra"])
    qrels = pq.read_table(tmp_path / "s-a/qrels.parquet")
    found = _with_extra(pq.read_table(tmp_path / "runs/bm25/s-a.parquet"), qrels, read_extra(extra["s-a"], qrels))
    assert found == {"extra": 1, "hole_extra": 0.0, "ndcg_extra": 1.0}


@pytest.mark.parametrize("name", ["scidocs", "scidocs.sample", "beir-nl.scidocs"])
def test_random_documents_are_no_pool(tmp_path: Path, name: str) -> None:
    table = bias(tmp_path, grades={name: [1, 0]}, rows={name: [name]})
    assert not table.loc[(name, "bm25"), "pooled"]
    assert table.loc[(name, "bm25"), ["unjudged", "bpref", "ndcg_condensed", "ndcg_holes_relevant"]].isna().all()
    assert table.loc[(name, "bm25"), "hole"] == 0.1


def test_judgements_are_put_to_those_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "more").write_text("# judged by hand\nq1 0 b 2\n\nq2\t0\tdöc -1\nq1 0 a 0\n#\n", encoding="utf-8")
    table = with_extra(TWO, read_extra(str(tmp_path / "more"), TWO))
    assert table.schema == SCHEMA
    expected = [("q2", "b", -1), ("q1", "b", 2), ("q2", "döc", -1), ("q1", "a", 0)]  # the grade 2 of "a" was changed
    assert [tuple(row.values()) for row in table.to_pylist()] == expected


def test_what_is_no_judgement_is_refused(tmp_path: Path) -> None:
    for line, problem in (
        ("q1 0 c", ":2: expected query, 0, document and grade"),
        ("q1 0 c 1 more", ":2: expected query, 0, document and grade"),
        *((f"q1 0 c {grade}", f"the grade must be an integer, found '{grade}'") for grade in ("1.5", "²", "--1")),
        ("q9 0 c 1", "the query 'q9' has no judgements"),
        ("q1 0 c 1", ":2: the grade 1, which the dataset does not use; expected one of -1, 0, 2; correct the file"),
        ("q1 0 c 1001", ":2: the grade 1001, which the dataset does not use"),
        ("q2 0 c 0", ":2: found the score 0 for query 'q2' and document 'c', but line 1 says 2"),
    ):
        (tmp_path / "more").write_text(f"q2 0 c 2\n{line}\n", encoding="utf-8")
        with pytest.raises(DataError, match=problem):
            read_extra(str(tmp_path / "more"), TWO)
    (tmp_path / "more").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="expected UTF-8"):
        read_extra(str(tmp_path / "more"), TWO)


def test_a_filled_pool_is_read_unless_it_was_filled_in_wrongly(tmp_path: Path) -> None:
    path, first = tmp_path / "pool.jsonl", '{"query_id": "q2", "query": "?", "doc_id": "\u2028 c", "grade": 2}\n'
    path.write_text(first, encoding="utf-8")
    assert read_extra(str(path), TWO).to_pylist() == [{"query_id": "q2", "doc_id": "\u2028 c", "score": 2}]
    for line, problem in (
        ('{"query_id": "q1", "doc_id": "c", "grade": null}', ":2: 'grade' must be an integer, found null; fill it in"),
        ('{"query_id": "q1", "doc_id": "c", "grade": true}', "'grade' must be an integer, found True"),
        ('{"query_id": "q1", "doc_id": "c", "grade": "one"}', "'grade' must be an integer, found 'one'"),
        ('{"query_id": "q1", "doc_id": "c"}', "'grade' is missing; keys here: query_id, doc_id"),
        ("[1]", r"expected a JSON object with query_id, doc_id and grade, found \[1\]"),
        ("q1 0 c 1", "expected a JSON object on one line"),
        ('{"query_id": "q1", "doc_id": "c", "grade": 1}', "pool.jsonl:2: the grade 1, which the dataset does not use"),
    ):
        path.write_text(f"{first}{line}\n", encoding="utf-8")
        with pytest.raises(DataError, match=problem):
            read_extra(str(path), TWO)


def test_who_made_further_judgements_is_said(tmp_path: Path) -> None:
    lines = [{"query_id": "q", "doc_id": "hole", "grade": 1}, {"query_id": "q", "doc_id": "other", "grade": 0, "judge": "m-7b"}]
    extra = {}
    for name, some in (("s-a", lines[:1]), ("s-b", lines[1:])):
        extra[name] = str(tmp_path / f"{name}.jsonl")
        Path(extra[name]).write_text("".join(json.dumps(line) + "\n" for line in some), encoding="utf-8")
    table = bias(tmp_path, grades={"trec-covid": [1, 0], "s-a": [1, 0], "s-b": [1, 0]}, extra_paths=extra)
    assert table["extra_by"].fillna("").to_dict() == {
        (row, system): by for row, by in (("trec-covid", ""), ("s", "model m-7b; people")) for system in ("bm25", "tas-b")
    }
