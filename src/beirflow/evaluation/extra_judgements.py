"""Judgements beside those of a dataset, of ``extra_judgements`` in the configuration: files in TREC form, or filled pools."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from beirflow.core.errors import DataError

PAIR = ["query_id", "doc_id"]

FIELDS = 4

A_GRADE = re.compile(r"-?[0-9]{1,4}")

MOST_GRADE = 1000  # as for the judgements of a dataset


def read_extra(path: str, qrels: pa.Table) -> pa.Table:
    """Return further judgements of a dataset; a file that ends in ``.jsonl`` is a pool.

    Raise DataError if a line is no judgement, has a grade that the dataset does not use, or is about a query that is not judged
    or a pair of an earlier line.
    """
    judgement = _of_pool if path.endswith(".jsonl") else _judgement
    queries, added = set(qrels["query_id"].to_pylist()), dict[tuple[str, str], int]()
    grades = sorted({0, *qrels["score"].to_pylist()})
    try:
        # Ids may hold characters that splitlines takes for line ends.
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: this is not text in UTF-8 ({error}); judgements in TREC form were expected") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        problem, pair, grade = judgement(line)
        if problem and line.startswith("#"):  # a comment, as for trec_eval 10
            continue
        if not problem and pair[0] not in queries:
            problem = f"the query {pair[0]!r} has no judgements in the dataset"
        elif not problem and pair in added:
            problem = f"an earlier line judges {pair[1]!r} for the query {pair[0]!r}"
        elif not problem and grade not in grades:
            problem = f"the grade {grade}, which the dataset does not use; expected one of {', '.join(map(str, grades))}"
        if problem:
            raise DataError(f"{path}, line {number}: {problem}; correct the file, or leave extra_judgements without it")
        added[pair] = grade
    return pa.table(
        {
            "query_id": pa.array([query for query, _ in added], qrels["query_id"].type),
            "doc_id": pa.array([document for _, document in added], qrels["doc_id"].type),
            "score": pa.array(added.values(), qrels["score"].type),
        }
    )


def with_extra(qrels: pa.Table, extra: pa.Table) -> pa.Table:
    """Return the judgements of a dataset and further ones, whose grade counts where both judge a pair."""
    again = set(_pairs(extra))
    # No join of Arrow: it does not keep the order of rows, and so changes the last digits of means.
    kept = [pair not in again for pair in _pairs(qrels)]
    return pa.concat_tables([qrels.select(extra.column_names).filter(pa.array(kept, pa.bool_())), extra])


def _pairs(qrels: pa.Table) -> Iterator[tuple[str, str]]:
    return zip(*(qrels[name].to_pylist() for name in PAIR), strict=True)


def judges_of(path: str) -> set[str]:
    """Return the judges of further judgements: ``people``, and ``model`` with the name that a line states."""
    lines = Path(path).read_text(encoding="utf-8").split("\n") if path.endswith(".jsonl") else []
    named = {json.loads(line).get("judge") for line in lines if line.strip()} or {None}
    return {"people" if judge is None else f"model {judge}" for judge in named}


def _judgement(line: str) -> tuple[str, tuple[str, str], int]:
    """Return the problem of a line, empty if there is none; the pair that it judges; and the grade."""
    fields = line.split()
    if len(fields) != FIELDS:
        return f"{len(fields)} fields, expected query, a number, document and grade", ("", ""), 0
    query, _, document, text = fields
    grade = int(text) if A_GRADE.fullmatch(text) else None
    if grade is None or abs(grade) > MOST_GRADE:
        return f"the grade {text!r}, expected a whole number up to {MOST_GRADE}", ("", ""), 0
    return "", (query, document), grade


def _of_pool(line: str) -> tuple[str, tuple[str, str], int]:
    """Return the same for a line of a pool."""
    try:
        entry = json.loads(line)
        query, document, grade = entry["query_id"], entry["doc_id"], entry["grade"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return f"{type(error).__name__}: {error}; expected a JSON object with query_id, doc_id and grade", ("", ""), 0
    if grade is None:
        return "its grade is null: fill it in, or remove the line", ("", ""), 0
    if type(grade) is not int or abs(grade) > MOST_GRADE:
        return f"the grade {grade!r}, expected a whole number up to {MOST_GRADE}", ("", ""), 0
    return "", (str(query), str(document)), grade
