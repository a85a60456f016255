"""Runs: the ranked documents of one system for one dataset, as Parquet and as TREC run files."""

import gzip
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.errors import DataError
from beirflow.files import atomic_path

RUN = pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), ("score", pa.float32()), ("rank", pa.int32())])
"""Columns of a run, sorted by query id in byte order and rank; ranks begin at 1."""

WHITESPACE = re.compile(r"\s")


def write_trec(*, run_path: str, output_path: str, tag: str) -> None:
    """Write a run in TREC form, ``query Q0 document rank score tag``, compressed with gzip.

    Args:
        run_path: Parquet file of the run.
        output_path: The ``.trec.gz`` to write.
        tag: Name of the system.

    Raises:
        DataError: An id holds whitespace, which separates the columns of a TREC run; nothing is written.
    """
    run = pq.ParquetFile(run_path)
    with (
        atomic_path(output_path) as partial,
        partial.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as out,
    ):
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
