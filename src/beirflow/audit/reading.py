"""Read untrusted result files: a few bytes must not fill memory, and what one reader sees another must not read differently."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.audit.checks import UNREADABLE, RecordError
from beirflow.core.outside_json import parse_json

RECORD_BYTES = 1 << 28  # a record is read as a whole; the longest names some thousand files
ROWS_A_BYTE = 16  # most rows that a byte of a Parquet file holds: usually below one, twelve if all queries are ranked alike
GROWTH = 100  # times that a Parquet file may grow when it is unpacked; texts grow up to twenty times
SMALL_BYTES = 1 << 26  # bytes to which a file may always unpack, however small it is


def read_record(path: Path) -> Any:
    """Read a JSON object; raise ValueError if it is none, too large, or has a key twice, which readers understand differently."""
    if path.stat().st_size > RECORD_BYTES:
        raise ValueError(f"{path.stat().st_size:,} bytes, but a record has less than {RECORD_BYTES:,}")
    record = parse_json(path.read_bytes(), object_pairs_hook=_object, parse_constant=_no_number)
    if not isinstance(record, dict):
        raise ValueError(f"a JSON object was expected, found {type(record).__name__}")
    return record


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} comes twice")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def part(record: Any, *keys: str, kind: type = object) -> Any:
    """Return the field of a record that ``keys`` lead to; raise RecordError if there is none of this kind."""
    for key in keys:
        if not isinstance(record, dict) or key not in record:
            raise RecordError(f"has no {' / '.join(keys)}")
        record = record[key]
    if not isinstance(record, kind) or (kind is int and isinstance(record, bool)):
        raise RecordError(f"has {type(record).__name__} as {' / '.join(keys)}, expected {kind.__name__}")
    return record


def open_parquet(path: Path, name: str) -> pq.ParquetFile:
    """Open a Parquet file that all readers understand alike, and whose footer promises no more than its size can hold.

    ``name`` is its name in messages. Raises RecordError if it promises more, has a column twice, or names columns for pandas.
    """
    file, size = pq.ParquetFile(path), path.stat().st_size
    names = file.schema_arrow.names
    if twice := sorted({column for column in names if names.count(column) > 1}):
        raise RecordError(f"has the column {twice[0]!r} twice", name)
    if b"pandas" in (file.schema_arrow.metadata or {}):
        raise RecordError("has metadata by which pandas renames columns; beirflow writes none", name)
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    unpacked, rows = sum(group.total_byte_size for group in groups), file.metadata.num_rows
    if unpacked > GROWTH * size + SMALL_BYTES or rows > ROWS_A_BYTE * size:
        raise RecordError(f"has {size:,} bytes that would unpack to {rows:,} rows and {unpacked:,} bytes", name)
    return file


def check_unpacked(path: Path, name: str) -> None:
    """Unpack an Arrow file batch by batch; raise RecordError if it has more than its size can hold."""
    size, unpacked = path.stat().st_size, 0
    with _as_record_errors(name), pa.memory_map(str(path)) as source:
        file = pa.ipc.open_file(source)
        for number in range(file.num_record_batches):
            unpacked += file.get_batch(number).nbytes
            if unpacked > GROWTH * size + SMALL_BYTES:
                raise RecordError(f"has {size:,} bytes that unpack to more than {unpacked:,} bytes", name)


@contextmanager
def _as_record_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, RecordError):
        raise
    except UNREADABLE as error:
        raise RecordError(f"cannot be read, {type(error).__name__}: {str(error)[:200]}", name) from error


def read_columns(path: Path, name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Read columns, all if None, of a Parquet file; raise RecordError if it cannot be read or is larger than it looks."""
    with _as_record_errors(name), open_parquet(path, name) as file:
        return file.read(None if columns is None else list(columns))
