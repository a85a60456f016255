"""What is wrong with the run of somebody else is named."""

from typing import Any

import pyarrow as pa
import pytest

from beirflow.extensions.exchange.run_problems import problem_with_order, problem_with_run
from beirflow.ranking.run_file import RUN

COLUMNS: dict[str, list[Any]] = {
    "query_id": ["q1", "q1", "q2"],
    "doc_id": ["a", "b", "a"],
    "score": [2.0, 1.0, 1.0],
    "rank": [1, 2, 1],
}


def test_a_run_may_have_its_rows_in_any_order_and_queries_in_another_order_are_named() -> None:
    table = pa.table(COLUMNS, schema=RUN)
    for run in (table, table.take([2, 1, 0]), table.take([1, 0, 2]), table.slice(0, 0)):
        assert problem_with_run(run) is None
    for run in (table, table.take([1, 0, 2]), table.slice(0, 0)):
        assert problem_with_order(run) is None
    for rows in ([2, 1, 0], [0, 2, 1]):
        assert problem_with_order(table.take(rows)) == "found queries that are not in the byte order of their ids"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"doc_id": ["a", "a", "a"]}, "found the document 'a' twice for the query 'q1'"),
        ({"score": [2.0, float("nan"), 1.0]}, "found a score for the query 'q1' that is not a finite number"),
        ({"score": [2.0, 1.0, float("-inf")]}, "found a score for the query 'q2' that is not a finite number"),
        ({"score": [2.0, None, 1.0]}, "found a row with nothing in a column"),
        ({"doc_id": ["a", None, "a"]}, "found a row with nothing in a column"),
        ({"rank": [2, 1, 1]}, "found the document 'a' at rank 2 for the query 'q1', expected rank 1"),
        ({"rank": [1, 2, 2]}, "found the document 'a' at rank 2 for the query 'q2', expected rank 1"),
        ({"score": [1.0, 2.0, 1.0]}, "found the document 'b' at rank 2 for the query 'q1', expected rank 1"),
        ({"score": [1.0, 1.0, 1.0]}, "found the document 'b' at rank 2 for the query 'q1', expected rank 1"),
    ],
)
def test_rows_that_no_run_has_are_named(changes: dict[str, list[Any]], says: str) -> None:
    assert problem_with_run(pa.table(COLUMNS | changes, schema=RUN)) == says


@pytest.mark.parametrize(
    "table",
    [
        pa.table(COLUMNS),
        pa.table({**COLUMNS, "more": [1, 2, 3]}),
        pa.table({"query_id": ["q1"], "doc_id": ["a"]}),
        pa.table(COLUMNS, schema=RUN).select(["doc_id", "query_id", "score", "rank"]),
    ],
    ids=["other types", "a column more", "columns less", "another order"],
)
def test_other_columns_than_those_of_a_run_are_named(table: pa.Table) -> None:
    columns = ", ".join(f"{field.name}: {field.type}" for field in table.schema)
    assert problem_with_run(table) == f"found the columns {columns}"
