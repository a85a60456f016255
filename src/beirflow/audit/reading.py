"""Read untrusted result files: a few bytes must not fill memory, and what one reader sees another must not read differently."""

import csv
import io
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.audit.checks import UNREADABLE, RecordError
from beirflow.core.outside_json import parse_json
from beirflow.data.corpus_files import RELEVANT_FROM

RECORD_BYTES = 1 << 28  # a record is read as a whole; the longest names some thousand files
ROWS_A_BYTE = 16  # most rows that a byte of a Parquet file holds: usually below one, twelve if all queries are ranked alike
GROWTH = 100  # times that a Parquet file may grow when it is unpacked; texts grow up to twenty times
PIECE_ROWS = 1 << 10  # rows that are unpacked at once where it is not known how long they are
SMALL_BYTES = 1 << 26  # bytes to which a file may always unpack, however small it is

METADATA = {b"ARROW:schema", *(name.encode() for name in (RELEVANT_FROM, "documents", "other", "beirflow"))}
"""Keys of the metadata of Parquet files: of all, of judgements, of texts that corpora share, and of scores."""

GZIP_HEADER = bytes.fromhex("1f8b080000000000 02ff")  # first bytes of every gzip file that beirflow writes: no name, no time
BLOCK_BYTES = 1 << 20  # bytes that are unpacked at once, and the longest line: a few bytes can unpack to any number


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
    """Unpack a table piece by piece; raise RecordError if it has more than its size can hold, whatever its head promises."""
    size = path.stat().st_size
    with _as_record_errors(name), ExitStack() as stack:
        pieces: Iterable[Any] = ()
        if name.endswith(".parquet"):
            pieces = stack.enter_context(open_parquet(path, name)).iter_batches(PIECE_ROWS)
        elif size:  # that of a chunk without documents is empty
            file = stack.enter_context(pa.ipc.open_file(stack.enter_context(pa.memory_map(str(path)))))
            pieces = map(file.get_batch, range(file.num_record_batches))
        for _ in _bounded(pieces, size, name):
            pass


def _bounded(pieces: Iterable[Any], size: int, name: str) -> Iterator[Any]:
    """Yield the pieces of a table; raise RecordError once they are more than a file of this size can hold."""
    unpacked = 0
    for piece in pieces:
        unpacked += piece.nbytes
        if unpacked > GROWTH * size + SMALL_BYTES:
            raise RecordError(f"has {size:,} bytes that unpack to more than {unpacked:,} bytes", name)
        yield piece


def check_statistics(path: Path, name: str) -> None:
    """Compare what a Parquet file states of its rows, by which readers skip some or count them, with its rows.

    Raises RecordError where they differ, or if it states more than beirflow writes, or unpacks to more than its size can hold.
    Lists are not compared.
    """
    with _as_record_errors(name), open_parquet(path, name) as file:
        if others := sorted({*(file.metadata.metadata or ())} - METADATA):
            raise RecordError(f"has the metadata {others[0].decode(errors='replace')!r}; beirflow writes none such", name)
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
        if sum(group.num_rows for group in groups) != file.metadata.num_rows:
            raise RecordError("states another number of rows than its parts", name)
        for number, group in enumerate(groups):
            columns = [group.column(place) for place in range(group.num_columns)]
            if group.sorting_columns or any(each.has_column_index for each in columns):
                raise RecordError("states an order of its rows, or has an index of them; beirflow writes none", name)
            stated = {each.path_in_schema: each.statistics for each in columns if each.statistics is not None}
            known = {column: stated[column] for column in stated.keys() & {*file.schema_arrow.names}}
            _check_group(known, file.iter_batches(PIECE_ROWS, row_groups=[number], columns=[*known]), path.stat().st_size, name)


def _check_group(stated: Mapping[str, Any], pieces: Iterable[pa.RecordBatch], size: int, name: str) -> None:
    """Compare the statistics of some columns of a row group with its pieces."""
    found: dict[str, list[Any]] = {column: [] for column in stated}  # of each piece its bounds and its empty cells
    for piece in _bounded(pieces, size, name):
        for column, parts in found.items():
            values = piece[column]
            if pa.types.is_dictionary(values.type):
                values = values.cast(values.type.value_type)
            parts.append((*pc.min_max(values).values(), values.null_count))
    for column, known in stated.items():
        lows, highs, empty = zip(*found[column], strict=True) if found[column] else ((), (), ())
        bounds = pc.min(pa.array(lows)).as_py(), pc.max(pa.array(highs)).as_py()
        if known.has_min_max and (known.min, known.max) != bounds:
            raise RecordError(f"states of {column} that it is from {known.min!r} to {known.max!r}, but {bounds}", name)
        if known.has_null_count and known.null_count != sum(empty):
            raise RecordError(f"states {known.null_count} empty cells of {column}, but has {sum(empty)}", name)


@contextmanager
def _as_record_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, RecordError):
        raise
    except UNREADABLE as error:
        raise RecordError(f"cannot be read, {type(error).__name__}: {str(error)[:200]}", name) from error


def read_rows(path: Path, name: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the values of some columns of a Parquet file, row by row; raise RecordError if they cannot be read."""
    with _as_record_errors(name), open_parquet(path, name) as file:
        for batch in file.iter_batches(columns=list(columns)):
            yield from zip(*(batch[column].to_pylist() for column in columns), strict=True)


def read_columns(path: Path, name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Read columns, all if None, of a Parquet file; raise RecordError if it cannot be read or is larger than it looks."""
    with _as_record_errors(name), open_parquet(path, name) as file:
        return file.read(None if columns is None else list(columns))


def columns_of(path: Path) -> list[str]:
    """Return the names of the columns of a CSV or Parquet file, without reading its rows; none of any other file."""
    if path.suffix == ".parquet":
        with open_parquet(path, path.name) as file:
            return [str(name) for name in file.schema_arrow.names]
    if path.suffix != ".csv":
        return []
    with path.open("rb") as stream:
        header = stream.read(BLOCK_BYTES).decode("utf-8", "replace")
    return next(csv.reader(io.StringIO(header, newline="")), [])


def read_packed_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a gzipped text that beirflow wrote, one that is longer than :data:`BLOCK_BYTES` in pieces.

    Raises ValueError if it cannot be unpacked, has another header, or has bytes behind its end.
    """
    unpack, rest = zlib.decompressobj(wbits=31), b""
    with path.open("rb") as stream:
        if (header := stream.read(len(GZIP_HEADER))) != GZIP_HEADER:
            raise ValueError(f"its first bytes are {header.hex()}, expected {GZIP_HEADER.hex()}")
        stream.seek(0)
        while not unpack.eof:
            packed = unpack.unconsumed_tail or stream.read(BLOCK_BYTES)
            try:
                block = unpack.decompress(packed, BLOCK_BYTES)
            except zlib.error as error:
                raise ValueError(f"it cannot be unpacked: {error}") from error
            if not (packed or block):
                raise ValueError("it ends too early")
            *lines, rest = (rest + block).split(b"\n")
            yield from (line + b"\n" for line in lines)
            if len(rest) > BLOCK_BYTES:
                yield rest
                rest = b""
        if unpack.unused_data or stream.read(1):
            raise ValueError("it has bytes behind its end")
    if rest:
        yield rest
