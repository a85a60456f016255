"""Read untrusted result files: a few bytes must not fill memory, and all readers must see the same content."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.audit.checks import UNREADABLE, FormatError, RecordError
from beirflow.core.errors import DataError
from beirflow.core.outside_json import parse_json
from beirflow.core.records import RECORD_DIGEST, format_problem, read_json

RECORD_BYTES = 1 << 28  # a record is read as a whole; the longest names some thousand files
ROWS_A_BYTE = 16  # maximum rows per byte of a Parquet file: usually below one, twelve if all queries are ranked alike
GROWTH = 100  # maximum growth of a Parquet file when it is unpacked; texts grow up to twentyfold
SMALL_BYTES = 1 << 26  # bytes to which any file may unpack


def read_record(path: Path) -> Any:
    """Read a JSON object; raise ValueError if it is none, too large, or has a duplicate key, which readers treat differently."""
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
        raise ValueError(f"duplicate key {next(key for key in keys if keys.count(key) > 1)!r}")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def read_whole(file: Path, path: str) -> dict[str, Any]:
    """Read a record; raise RecordError unless it is that of ``path``, of a known format, and as it was written."""
    record: dict[str, Any] = read_record(file)
    if record.get("path") != path:
        raise RecordError(f"is the record of {record.get('path')!r}", path)
    if problem := format_problem(record):
        raise FormatError(problem, path)
    if not is_whole(file):
        raise RecordError(f"does not match its own {RECORD_DIGEST}, {record.get(RECORD_DIGEST)}", path)
    return record


def is_whole(file: Path) -> bool:
    """Test whether the content of a record matches its own digest."""
    try:
        read_json(file)
    except DataError:
        return False
    return True


def part(record: Any, *keys: str, kind: type = object) -> Any:
    """Return the nested field ``keys`` of a record; raise RecordError unless it is there and of this type."""
    for key in keys:
        if not isinstance(record, dict) or key not in record:
            raise RecordError(f"has no {' / '.join(keys)}")
        record = record[key]
    if not isinstance(record, kind) or (kind is int and isinstance(record, bool)):
        raise RecordError(f"has {type(record).__name__} as {' / '.join(keys)}, expected {kind.__name__}")
    return record


def short(value: Any) -> str:
    """Return a value for a message, cut after 200 characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else f"{text[:200]}…"


def open_parquet(path: Path, name: str) -> pq.ParquetFile:
    """Open a Parquet file that all readers understand alike, and whose footer names no more than its size can hold.

    ``name`` is its name in messages. Raises RecordError if it names more, has a column twice, or renames columns for pandas.
    """
    file, size = pq.ParquetFile(path), path.stat().st_size
    names = file.schema_arrow.names
    if twice := sorted({column for column in names if names.count(column) > 1}):
        raise RecordError(f"has the duplicate column {twice[0]!r}", name)
    if b"pandas" in (file.schema_arrow.metadata or {}):
        raise RecordError("has metadata by which pandas renames columns; beirflow writes none", name)
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    unpacked, rows = sum(group.total_byte_size for group in groups), file.metadata.num_rows
    if unpacked > GROWTH * size + SMALL_BYTES or rows > ROWS_A_BYTE * size:
        raise RecordError(f"has {size:,} bytes that would unpack to {rows:,} rows and {unpacked:,} bytes", name)
    return file


def check_unpacked(path: Path, name: str) -> None:
    """Unpack an Arrow file batch by batch; raise RecordError if it, or a Parquet file, holds more than its size allows."""
    size, unpacked = path.stat().st_size, 0
    if path.suffix == ".parquet":
        open_parquet(path, name).close()
        return
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
    """Read columns of a Parquet file, all if None; raise RecordError if it cannot be read or unpacks to too much."""
    with _as_record_errors(name), open_parquet(path, name) as file:
        return file.read(None if columns is None else list(columns))
