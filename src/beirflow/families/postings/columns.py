"""Columns of several lengths in one file of Arrow's IPC, with one row per batch, in which every column is a list.

A reader takes only the columns that it needs, one batch after the other. The same content makes the same bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

Column: TypeAlias = "np.ndarray | pa.Array"


class ColumnWriter:
    """Writer of batches of columns to a file that is open for bytes; the first batch decides their names and types.

    Arrow would ignore that a file which it opened itself cannot be closed. ``metadata`` is what a reader expects to find;
    ``compression`` is ``zstd``, or None for numbers that do not get smaller.
    """

    def __init__(self, sink: Any, metadata: Mapping[str, bytes | str], compression: str | None = "zstd") -> None:
        self._sink, self._metadata, self._compression = sink, dict(metadata), compression
        self._writer: pa.ipc.RecordBatchFileWriter | None = None

    def __enter__(self) -> "ColumnWriter":
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer:
            self._writer.close()

    def write(self, columns: Mapping[str, Column]) -> None:
        """Write a batch: every column by its name, each of shape (its own length,)."""
        lists = [pa.LargeListArray.from_arrays(pa.array([0, len(value)]), pa.array(value)) for value in columns.values()]
        fields = [pa.field(name, column.type) for name, column in zip(columns, lists, strict=True)]
        schema = pa.schema(fields, self._metadata)
        if self._writer is None:
            self._writer = pa.ipc.new_file(self._sink, schema, options=pa.ipc.IpcWriteOptions(compression=self._compression))
        self._writer.write_batch(pa.record_batch(lists, schema=schema))


def read_columns(path: str | Path, metadata: Mapping[str, bytes | str], wanted: Sequence[str]) -> Iterator[dict[str, pa.Array]]:
    """Yield the wanted columns of each batch that :class:`ColumnWriter` wrote, by name.

    Raises ValueError if it was written with other metadata. Arrow has exceptions of its own for what it cannot read.
    """
    expected = {key.encode(): value if isinstance(value, bytes) else value.encode() for key, value in metadata.items()}
    with pa.memory_map(str(path)) as source:
        schema = pa.ipc.open_file(source).schema
        if schema.metadata != expected:
            raise ValueError(f"found {schema.metadata}, expected {expected}")
        options = pa.ipc.IpcReadOptions(included_fields=[schema.names.index(name) for name in wanted])
        reader = pa.ipc.open_file(source, options=options)
        for number in range(reader.num_record_batches):
            columns = reader.get_batch(number)
            columns.validate(full=True)
            yield {name: columns[name].flatten() for name in wanted}
