"""A run that is none is not evaluated."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.ranking.run_file import RUN, read_run

COLUMNS: dict[str, list[Any]] = {
    "query_id": ["q1", "q1", "q2"],
    "doc_id": ["a", "b", "a"],
    "score": [2.0, 1.0, 1.0],
    "rank": [1, 2, 1],
}


def read(path: Path, table: pa.Table) -> pa.Table:
    """The run as evaluation reads it, with a record that agrees with it."""
    pq.write_table(table, path)
    return read_run(str(path), file_digest(path), "run.json")


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
def test_rows_that_no_run_has_are_refused(tmp_path: Path, changes: dict[str, list[Any]], says: str) -> None:
    path = tmp_path / "run.parquet"
    with pytest.raises(DataError, match=f"^{path}: {says}; a run has query_id: string"):
        read(path, pa.table(COLUMNS | changes, schema=RUN))


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
def test_other_columns_than_those_of_a_run_are_refused(tmp_path: Path, table: pa.Table) -> None:
    with pytest.raises(DataError, match=r"run\.parquet: found the columns "):
        read(tmp_path / "run.parquet", table)
