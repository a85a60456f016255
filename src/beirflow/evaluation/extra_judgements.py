"""Additional judgements, ``extra_judgements`` in the configuration: files in TREC format, or filled pools."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from beirflow.core.errors import DataError

PAIR = ["query_id", "doc_id"]

FIELDS = 4

A_GRADE = re.compile(r"-?(1000|0?[0-9]{1,3})")

MOST_GRADE = 1000  # as for the judgements of a dataset


def read_extra(path: str, qrels: pa.Table) -> pa.Table:
    """Return further judgements of a dataset; a file that ends in ``.jsonl`` is a pool.

    Raise DataError if a line is no judgement, has a grade that the dataset does not use, or is about a query that is not judged
    or a pair of an earlier line.
    """
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
        try:
            query, document, grade = _of_pool(line) if path.endswith(".jsonl") else _of_line(line)
            problem = ""
        except ValueError as error:
            if line.startswith("#"):  # a comment, as for trec_eval 10
                continue
            problem = str(error)
        if not problem and query not in queries:
            problem = f"the query {query!r} has no judgements in the dataset"
        elif not problem and (query, document) in added:
            problem = f"an earlier line judges {document!r} for the query {query!r}"
        elif not problem and grade not in grades:
            problem = f"the grade {grade}, which the dataset does not use; expected one of {', '.join(map(str, grades))}"
        if problem:
            raise DataError(f"{path}, line {number}: {problem}; correct the file, or leave extra_judgements without it")
        added[query, document] = grade
    return pa.table(
        {
            "query_id": pa.array([query for query, _ in added], qrels["query_id"].type),
            "doc_id": pa.array([document for _, document in added], qrels["doc_id"].type),
            "score": pa.array(added.values(), qrels["score"].type),
        }
    )


def with_extra(qrels: pa.Table, extra: pa.Table) -> pa.Table:
    """Merge the judgements of a dataset with additional ones, whose grades win."""
    again = set(_pairs(extra))
    # No join of Arrow: it does not keep the order of rows, and so changes the last digits of means.
    kept = [pair not in again for pair in _pairs(qrels)]
    return pa.concat_tables([qrels.select(extra.column_names).filter(pa.array(kept, pa.bool_())), extra])


def _pairs(qrels: pa.Table) -> Iterator[tuple[str, str]]:
    return zip(*(qrels[name].to_pylist() for name in PAIR), strict=True)


def judges_of(path: str) -> set[str]:
    """Return the judges of further judgements: ``people``, and ``model`` with its name in the line."""
    lines = Path(path).read_text(encoding="utf-8").split("\n") if path.endswith(".jsonl") else []
    named = {json.loads(line).get("judge") for line in lines if line.strip()} or {None}
    return {"people" if judge is None else f"model {judge}" for judge in named}


def _of_line(line: str) -> tuple[str, str, int]:
    """Return query, document and grade of a line in TREC form; ValueError with the problem if it is no judgement."""
    fields = line.split()
    if len(fields) != FIELDS:
        raise ValueError(f"{len(fields)} fields, expected query, a number, document and grade")
    query, _, document, text = fields
    return query, document, _grade(int(text) if A_GRADE.fullmatch(text) else text)


def _of_pool(line: str) -> tuple[str, str, int]:
    """Return the same of a line of a pool."""
    try:
        entry = json.loads(line)
        query, document, grade = entry["query_id"], entry["doc_id"], entry["grade"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        expected = "expected a JSON object with query_id, doc_id and grade"
        raise ValueError(f"{type(error).__name__}: {error}; {expected}") from error
    if grade is None:
        raise ValueError("its grade is null: fill it in, or remove the line")
    return str(query), str(document), _grade(grade)


def _grade(found: object) -> int:
    if type(found) is not int or abs(found) > MOST_GRADE:
        raise ValueError(f"the grade {found!r}, expected a whole number up to {MOST_GRADE}")
    return found
