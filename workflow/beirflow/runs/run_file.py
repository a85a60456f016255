"""Runs: the ranked documents of one system for one dataset, as Parquet and as TREC run files."""

import gzip
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.files.errors import DataError
from beirflow.files.records import check_inputs, output_digest, read_json
from beirflow.files.verified import check_digest
from beirflow.files.writing import atomic_path
from beirflow.runs.ranking import ties_of

RUN = pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), ("score", pa.float32()), ("rank", pa.int32())])
"""Columns of a run, sorted by query id in byte order and rank; ranks begin at 1."""

logger = logging.getLogger(__name__)

WHITESPACE = re.compile(r"\s")


def read_run(path: str, expected: str, record_path: str) -> pa.Table:
    """Read a run that can be evaluated.

    Args:
        path: Parquet file of the run.
        expected: Its sha256.
        record_path: The record that says so.

    Returns:
        The run, with the columns of ``RUN``.

    Raises:
        DataError: The run was changed after it was written, or it is none: other columns, a score that is not a number, or a
            document twice for one query.
    """
    check_digest(path, expected, record_path)
    run = pq.read_table(path)
    if problem := _problem_with(run):
        raise DataError(f"{path}: {problem}; a run has {_columns(RUN)}, each document once for a query")
    return run


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)


def _problem_with(run: pa.Table) -> str | None:
    """What keeps a table from being a run."""
    if not run.schema.equals(RUN):
        return f"found the columns {_columns(run.schema)}"
    if any(column.null_count for column in run.columns):
        return "found a row with nothing in a column"
    for value in pc.unique(run["query_id"].filter(pc.invert(pc.is_finite(run["score"])))).slice(0, 1):
        return f"found a score for the query {value.as_py()!r} that is not a finite number"
    query, document = (run[name].combine_chunks().dictionary_encode().indices.to_numpy() for name in ("query_id", "doc_id"))
    pairs = query.astype(np.int64) << 32 | document
    ordered = np.sort(pairs)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        row = int(np.argmax(pairs == twice[0]))
        return f"found the document {run['doc_id'][row].as_py()!r} twice for the query {run['query_id'][row].as_py()!r}"
    return None


@contextmanager
def run_writer(path: str | Path) -> Iterator[Callable[[pa.Array, pa.Array, np.ndarray, np.ndarray], None]]:
    """Write a run a part at a time.

    Args:
        path: Parquet to write.

    Yields:
        A function that takes the next rows: ids of queries and documents, scores and ranks, sorted by query and rank.
    """
    with atomic_path(path) as partial, pq.ParquetWriter(partial, RUN, compression="zstd") as writer:
        yield lambda *columns: writer.write_table(pa.table(list(columns), schema=RUN))


def write_trec(*, run_path: str, record_path: str, output_path: str, tag: str, header: str = "") -> None:
    """Write a run in TREC form, ``query Q0 document rank score tag``, compressed with gzip.

    Args:
        run_path: Parquet file of the run.
        record_path: JSON that was written with the run.
        output_path: The ``.trec.gz`` to write.
        tag: Name of the system.
        header: Lines that begin with ``#``, which come first.

    Raises:
        DataError: The run was changed after it was written, or an id holds whitespace, which separates the columns of a TREC run;
            nothing is written.
    """
    record = read_json(record_path)
    check_inputs(record_path, record, {}, system=tag)
    check_digest(run_path, output_digest(record, run_path), record_path)
    if (ties := ties_of(record)) != "descending":
        logger.warning("%s: ids of tied documents are %s, but trec_eval sorts them descending", output_path, ties)
    run = pq.ParquetFile(run_path)
    with (
        atomic_path(output_path) as partial,
        partial.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as out,
    ):
        out.write(header.encode("utf-8"))
        for batch in run.iter_batches():
            lines = [
                _trec_line(*row, tag=tag, path=Path(run_path))
                for row in zip(*(column.to_pylist() for column in batch), strict=True)
            ]
            out.write("".join(lines).encode("utf-8"))


def _trec_line(query_id: str, doc_id: str, score: float, rank: int, *, tag: str, path: Path) -> str:
    for identifier in (query_id, doc_id):
        if WHITESPACE.search(identifier):
            raise DataError(
                f"{path}: a TREC run cannot hold the id {identifier!r}, because of the whitespace in it; use the Parquet file"
            )
    return f"{query_id} Q0 {doc_id} {rank} {score:.9g} {tag}\n"
