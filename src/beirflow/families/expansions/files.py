"""Expansions on disk: a row per document, in the order of the chunk."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core.artifact import Artifact, Stream
from beirflow.core.layout import EXPANSION
from beirflow.core.records import Job, check_inputs
from beirflow.core.verified import damaged, reading
from beirflow.core.writing import atomic_path
from beirflow.data.corpus_files import recorded_digest

COLUMNS = {
    "queries": pa.schema([("doc_id", pa.string()), ("queries", pa.list_(pa.large_string()))]),
    "weights": pa.schema([("doc_id", pa.string()), ("words", pa.list_(pa.large_string())), ("weights", pa.list_(pa.float64()))]),
}
"""Columns by kind of expansion."""

WINDOW_ROWS = 16_384  # rows of a row group, which are in memory together while they are written

Windows = Iterable[Sequence[Any]]
"""Columns of :data:`COLUMNS`, some rows at a time, in the order of the chunk."""


class ExpansionFile(Artifact):
    """Additions to the documents of a chunk."""

    pattern = EXPANSION
    represents = True

    def check_rows(self, kind: str, chunk: int, documents: int) -> None:
        """Raise DataError unless the additions are of a kind, with a row for every document of a chunk."""
        if self.record["kind"] != kind:
            raise damaged(self.record_path, f"it was made from the kind {self.record['kind']}, but {kind} is used here")
        if self.record["rows"] != documents:
            raise damaged(self.path, f"found {self.record['rows']} rows, but chunk {chunk} has {documents} documents")

    def joined(self, rows: int) -> Iterator[pa.Array]:
        """Yield the queries of so many documents at a time, those of a document as one text with spaces, large strings."""
        for batch in self.batches(rows):
            yield pc.binary_join(batch["queries"], pa.scalar(" ", pa.large_string()))

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield so many rows at a time. Raises DataError if the file was damaged."""
        with reading(self.path), pq.ParquetFile(self.path, page_checksum_verification=True) as file:
            if not file.schema_arrow.equals(COLUMNS[self.record["kind"]]):
                raise damaged(self.path, f"found the columns {', '.join(file.schema_arrow.names)}")
            yield from file.iter_batches(rows)

    @staticmethod
    def write(stream: Stream, data: tuple[str, Windows]) -> None:
        """Write the kind of an expansion and its rows as Parquet."""
        kind, windows = data
        schema = COLUMNS[kind]
        with pq.ParquetWriter(stream, schema, compression="zstd", write_page_checksum=True) as writer:
            for columns in windows:
                arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
                writer.write_table(pa.table(arrays, schema=schema), row_group_size=WINDOW_ROWS)


def write_expansion(path: str | Path, kind: str, windows: Windows) -> None:
    """Write the expansion of a chunk, whole or not at all."""
    with atomic_path(path) as partial, partial.open("wb") as stream:
        ExpansionFile.write(stream, (kind, windows))


def checked_expansion(path: str, kind: str, documents_path: str, job: Job) -> ExpansionFile:
    """Open additions to the documents of a corpus; DataError if they were damaged, or are of another kind or corpus."""
    added = ExpansionFile(path)
    check_inputs(added.record_path, added.record, {job.below(documents_path): recorded_digest(documents_path)}, kind=kind)
    added.check()
    return added


class ExpansionRecord(ExpansionFile):
    """The record of such a file, which is not read: what was made with it may be all that is left."""

    def check(self) -> None:
        """Do nothing."""
