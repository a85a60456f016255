"""Additional judgements of a dataset: in TREC form (query, an ignored number, document, grade), or a pool that was filled in."""

import json
import re
from pathlib import Path

import pyarrow as pa

from beirflow.files.errors import DataError

FIELDS = 4
A_GRADE = re.compile(r"-?[0-9]{1,4}")
MOST_GRADE = 1000
"""Highest grade, as for the judgements of a dataset."""


def read_extra(path: str, qrels: pa.Table) -> pa.Table:
    """Add judgements from a file to those of a dataset; a file that ends in ``.jsonl`` is a pool (:mod:`beirflow.analysis.pool`).

    Raise DataError if a line is no judgement, or is about a query that is not judged or a pair that is judged already.
    """
    judged = set(zip(qrels["query_id"].to_pylist(), qrels["doc_id"].to_pylist(), strict=True))
    judgement = _of_pool if path.endswith(".jsonl") else _judgement
    queries, added = {query for query, _ in judged}, dict[tuple[str, str], int]()
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: this is not text in UTF-8 ({error}); judgements in TREC form were expected") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        problem, pair, grade = judgement(line)
        if not problem and pair[0] not in queries:
            problem = f"the query {pair[0]!r} has no judgements in the dataset"
        elif not problem and (pair in judged or pair in added):
            problem = f"{pair[1]!r} is judged for the query {pair[0]!r} already"
        if problem:
            raise DataError(f"{path}, line {number}: {problem}; correct the file, or leave extra_judgements without it")
        added[pair] = grade
    table = pa.table(
        {
            "query_id": pa.array([query for query, _ in added], qrels["query_id"].type),
            "doc_id": pa.array([document for _, document in added], qrels["doc_id"].type),
            "score": pa.array(added.values(), qrels["score"].type),
        }
    )
    return pa.concat_tables([qrels.select(table.column_names), table])


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
