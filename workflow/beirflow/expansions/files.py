"""Expansions on disk: a row per document, in the order of the chunk."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.datasets.corpus_files import recorded_digest
from beirflow.files.digests import file_digest
from beirflow.files.layout import record_of
from beirflow.files.records import Job, check_inputs, output_digest, read_json
from beirflow.files.verified import check_digest, damaged, parquet_errors
from beirflow.files.writing import atomic_path

COLUMNS = {
    "queries": pa.schema([("doc_id", pa.string()), ("queries", pa.list_(pa.large_string()))]),
    "weights": pa.schema([("doc_id", pa.string()), ("words", pa.list_(pa.large_string())), ("weights", pa.list_(pa.float64()))]),
}
"""By kind of expansion."""

WINDOW_ROWS = 16_384
"""Rows of a row group, which are in memory together while they are written."""


def write_expansion(path: str | Path, kind: str, windows: Iterable[Sequence[Any]]) -> None:
    """Write what is added to the documents of a chunk.

    Args:
        path: The Parquet file to write.
        kind: ``queries`` or ``weights``.
        windows: The columns of :data:`COLUMNS`, some rows at a time, in the order of the chunk.
    """
    schema = COLUMNS[kind]
    options = {"compression": "zstd", "write_page_checksum": True}
    with atomic_path(path) as partial, pq.ParquetWriter(partial, schema, **options) as writer:
        for columns in windows:
            arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
            writer.write_table(pa.table(arrays, schema=schema), row_group_size=WINDOW_ROWS)


class ExpansionFile:
    """Additions to the documents of a chunk, read only if they match their record and belong to this corpus.

    Args:
        path: What :func:`write_expansion` wrote, next to its record.
        kind: What it should be.
        documents_path: ``documents.parquet``, next to its ``corpus.json``.
        job: The job that reads.

    Attributes:
        path: The file.
        record: What its record holds.

    Raises:
        DataError: It was damaged, or made of another corpus.
    """

    def __init__(self, path: str, kind: str, documents_path: str, job: Job) -> None:
        self.path, self._schema = path, COLUMNS[kind]
        self.record = read_json(record_of(path))
        check_inputs(record_of(path), self.record, {job.below(documents_path): recorded_digest(documents_path)}, kind=kind)
        check_digest(path, output_digest(self.record, path), record_of(path))

    @property
    def inputs(self) -> dict[str, str]:
        """The file and its record, by path with their digests, for the record of what is made from it."""
        record_path = str(record_of(self.path))
        return {self.path: output_digest(self.record, self.path), record_path: file_digest(record_path)}

    def check_rows(self, chunk: int, documents: int) -> None:
        """Make sure that it has a row for every document.

        Args:
            chunk: Number of the chunk, for the message.
            documents: Documents of the chunk.

        Raises:
            DataError: It has fewer rows, or more.
        """
        if self.record["rows"] != documents:
            raise damaged(self.path, f"found {self.record['rows']} rows, but chunk {chunk} has {documents} documents")

    def joined(self, rows: int) -> Iterator[pa.Array]:
        """Read queries some rows at a time, those of a document as one text.

        Args:
            rows: Rows of every batch but the last.

        Yields:
            The queries of the next documents, separated by spaces, large strings.
        """
        for batch in self.batches(rows):
            yield pc.binary_join(batch["queries"], pa.scalar(" ", pa.large_string()))

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        """Read some rows at a time.

        Args:
            rows: Rows of every batch but the last.

        Yields:
            The next rows.

        Raises:
            DataError: It was damaged.
        """
        with parquet_errors(self.path), pq.ParquetFile(self.path, page_checksum_verification=True) as file:
            if not file.schema_arrow.equals(self._schema):
                raise damaged(self.path, f"found the columns {', '.join(file.schema_arrow.names)}")
            yield from file.iter_batches(rows)


def stored_rows(path: str | Path, kind: str, rows: pa.Array) -> list[Any]:
    """Return the stored additions to some documents, for an audit, which compares digests itself.

    Args:
        path: What :func:`write_expansion` wrote.
        kind: What it should be.
        rows: Rows of the documents in their chunk.

    Returns:
        Of each its queries, or pairs of a word and its weight.
    """
    table = pq.read_table(path).take(rows)
    if kind == "queries":
        return table["queries"].to_pylist()
    pairs = zip(table["words"].to_pylist(), table["weights"].to_pylist(), strict=True)
    return [list(zip(words, weights, strict=True)) for words, weights in pairs]
