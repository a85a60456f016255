"""Rows of the files of a dataset on a hub: JSON lines, also gzipped, and Parquet, hostile until checked."""

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson

from beirflow.files.errors import DataError
from beirflow.sources.archives import BOMB_BYTES, BOMB_RATIO
from beirflow.sources.beir_files import judgement_line
from beirflow.sources.json_lines import read_value, short

BATCH_ROWS = 2048
"""Rows of a Parquet file that are read at a time."""

Row = dict[str, Any]
Reader = Callable[[Path, str, Sequence[str]], Iterator[tuple[int, Row]]]


def rows_of_parquet(path: Path, where: str, columns: Sequence[str]) -> Iterator[tuple[int, Row]]:
    """Yield number, from 1, and values of each row of a Parquet file, of those of the columns that it has.

    Raises DataError if the file is damaged, or if a column is neither of texts nor of numbers.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    def usable(kind: Any) -> bool:
        nested = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_dictionary(kind)
        plain = kind.value_type if nested else kind
        text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
        tests = (*text, pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
        return any(test(plain) for test in tests)

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            here = [name for name in columns if name in file.schema_arrow.names]
            for name in here:
                if not usable(kind := file.schema_arrow.field(name).type):
                    raise DataError(f"{where}: the column {name!r} holds {kind}; texts or numbers were expected")
            for batch in file.iter_batches(BATCH_ROWS, columns=here):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{where}: no Parquet file that can be read, after row {number} ({str(error)[:200]})") from error


def stream_of_lines(path: Path, where: str) -> BinaryIO:
    """Open a text file, unpacked where it is gzipped."""
    if path.suffix == ".gz":
        return cast(BinaryIO, _Unpacked(path, where))
    return path.open("rb")


class _Unpacked:
    """A gzipped file, as far as sources read it; one that is damaged or unpacks to far too much is refused."""

    def __init__(self, path: Path, where: str) -> None:
        self._where, self._packed, self._read = where, path.stat().st_size, 0
        self._stream = gzip.open(path)  # noqa: SIM115 - closed on exit

    def __enter__(self) -> "_Unpacked":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, size: int) -> bytes:
        """Return at most so many bytes."""
        return self._checked(lambda: self._stream.read(size))

    def readline(self, size: int) -> bytes:
        """Return the rest of a line, at most so many bytes."""
        return self._checked(lambda: self._stream.readline(size))

    def _checked(self, read: Callable[[], bytes]) -> bytes:
        try:
            content = read()
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self._where}: the file is damaged ({error})") from error
        self._read += len(content)
        if self._read > max(BOMB_BYTES, BOMB_RATIO * self._packed):
            raise DataError(f"{self._where}: unpacks to more than {self._read:,} bytes from {self._packed:,}; do not trust it")
        return content


def row_of_line(where: str, number: int, line: bytes) -> Row:
    """Return the object on a line of JSON; DataError if it is none."""
    row = read_value(where, number, line)
    if not isinstance(row, dict):
        raise DataError(f"{where}:{number}: expected a JSON object, found {short(row)}")
    return row


def text_line(where: str, row: Row, *, titled: bool) -> bytes:
    """Return a document, or with ``titled=False`` a query, as a line in BEIR form; DataError if it has no id."""
    record = {"_id": id_of(where, "_id" if "_id" in row else "id", row), "text": row.get("text")}
    return orjson.dumps(record | ({"title": row.get("title")} if titled else {}))


def id_of(where: str, name: str, row: Row) -> str:
    """Return an id, which may be a number, as text; DataError if there is none."""
    identifier = row.get(name)
    if (
        isinstance(identifier, bool)
        or not isinstance(identifier, str | int)
        or identifier == ""
        or any(each in str(identifier) for each in "\t\n\r")
    ):
        raise DataError(f"{where}: {name!r} must be a non-empty string or an integer, found {short(identifier)}")
    return str(identifier)


def judgement_lines(where: str, row: Row) -> tuple[list[bytes], bool]:
    """Return the judgements of a row, of one document or of a list, as lines in BEIR form, and whether the row had a score.

    The score is 1 where there is none. Raises DataError if an id is missing, or if the score is no integer.
    """
    query_id, score, doc_ids = id_of(where, "query-id", row), row.get("score"), row.get("corpus-id")
    grade = 1 if score is None else score
    if isinstance(grade, bool) or not isinstance(grade, int | float) or not float(grade).is_integer():
        raise DataError(f"{where}: 'score' must be an integer, found {short(score)}")
    rows = [{"corpus-id": each} for each in doc_ids] if isinstance(doc_ids, list) else [row]
    ids = [id_of(where, "corpus-id", each) for each in rows]
    return [judgement_line(query_id, doc_id, int(grade)) for doc_id in ids], score is not None
