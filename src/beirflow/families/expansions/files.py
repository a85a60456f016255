"""Expansions on disk: a row per document, in the order of the chunk."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core.digests import file_digest
from beirflow.core.layout import record_of
from beirflow.core.records import Job, check_inputs, output_digest, read_json
from beirflow.core.verified import check_digest, damaged, reading
from beirflow.core.writing import atomic_path
from beirflow.data.corpus_files import recorded_digest

COLUMNS = {
    "queries": pa.schema([("doc_id", pa.string()), ("queries", pa.list_(pa.large_string()))]),
    "weights": pa.schema([("doc_id", pa.string()), ("words", pa.list_(pa.large_string())), ("weights", pa.list_(pa.float64()))]),
}
"""Columns by kind of expansion."""

WINDOW_ROWS = 16_384  # rows of a row group, which are in memory together while they are written


def write_expansion(path: str | Path, kind: str, windows: Iterable[Sequence[Any]]) -> None:
    """Write the expansion of a chunk as Parquet: columns of :data:`COLUMNS`, some rows at a time, in the order of the chunk."""
    schema = COLUMNS[kind]
    options = {"compression": "zstd", "write_page_checksum": True}
    with atomic_path(path) as partial, pq.ParquetWriter(partial, schema, **options) as writer:
        for columns in windows:
            arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
            writer.write_table(pa.table(arrays, schema=schema), row_group_size=WINDOW_ROWS)


class ExpansionFile:
    """Additions to the documents of a chunk, read only if they match their record and belong to this corpus, else DataError.

    ``path`` is what :func:`write_expansion` wrote, next to its record, and ``kind`` what it should be.
    """

    def __init__(self, path: str, kind: str, documents_path: str, job: Job) -> None:
        self.path, self._schema = path, COLUMNS[kind]
        self.record = read_json(record_of(path))
        check_inputs(record_of(path), self.record, {job.below(documents_path): recorded_digest(documents_path)}, kind=kind)
        check_digest(path, output_digest(self.record, path), record_of(path))

    @property
    def inputs(self) -> dict[str, str]:
        """Digests of the file and its record, by path, for the record of what is made from it."""
        record_path = str(record_of(self.path))
        return {self.path: output_digest(self.record, self.path), record_path: file_digest(record_path)}

    def check_rows(self, chunk: int, documents: int) -> None:
        """Raise DataError unless there is a row for every document of a chunk."""
        if self.record["rows"] != documents:
            raise damaged(self.path, f"found {self.record['rows']} rows, but chunk {chunk} has {documents} documents")

    def joined(self, rows: int) -> Iterator[pa.Array]:
        """Yield the queries of so many documents at a time, those of a document as one text with spaces, large strings."""
        for batch in self.batches(rows):
            yield pc.binary_join(batch["queries"], pa.scalar(" ", pa.large_string()))

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield so many rows at a time. Raises DataError if the file was damaged."""
        with reading(self.path), pq.ParquetFile(self.path, page_checksum_verification=True) as file:
            if not file.schema_arrow.equals(self._schema):
                raise damaged(self.path, f"found the columns {', '.join(file.schema_arrow.names)}")
            yield from file.iter_batches(rows)


def stored_rows(path: str | Path, kind: str, rows: pa.Array) -> list[Any]:
    """Return the stored queries, or pairs of word and weight, of some documents, for an audit, which compares digests itself."""
    table = pq.read_table(path).take(rows)
    if kind == "queries":
        return table["queries"].to_pylist()
    pairs = zip(table["words"].to_pylist(), table["weights"].to_pylist(), strict=True)
    return [list(zip(words, weights, strict=True)) for words, weights in pairs]
