"""Expansions that somebody has made already: JSONL with an id and queries, or an id and weights by word."""

import gzip
import math
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.datasets.corpus_files import Documents, recorded_digest
from beirflow.expansions.files import write_expansion
from beirflow.expansions.settings import Expansion
from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.layout import record_of
from beirflow.files.progress import Progress
from beirflow.files.records import Job, write_record

LINE_BYTES = 1 << 26
"""A line this long is refused: a file without line feeds must not fill memory."""

EXPECTED = {
    "queries": "'queries', a list of strings",
    "weights": "'weights', an object with a number from 0 for each word",
}


def read_given(*, given: Expansion, source_path: str, documents_path: str, chunk: int, output_path: str, job: Job) -> None:
    """Take from a file what is added to the documents of one chunk.

    Args:
        given: The expansion.
        source_path: The JSONL file, plain or gzipped.
        documents_path: ``documents.parquet``, next to its ``corpus.json``.
        chunk: Number of the chunk.
        output_path: Parquet to write, and its record.
        job: The job, for the record.

    Raises:
        DataError: A line is not as expected, names a document that the corpus does not have, or one that another line named
            before; or a document of the chunk is in no line.
    """
    start = time.perf_counter()
    with Documents(documents_path) as documents:
        sizes = documents.sizes
        ids = documents.read(range(len(sizes)), ["doc_id"])["doc_id"].combine_chunks()
    first = sum(sizes[:chunk])
    entries = _entries(source_path, given.kind, ids, range(first, first + sizes[chunk]), job.name)
    missing = [row for row in range(sizes[chunk]) if row not in entries]
    if missing:
        found = f"{len(missing):,} of the {sizes[chunk]:,} documents of chunk {chunk} are in no line, the first is"
        todo = "an empty list or object is enough for a document to which nothing is added"
        raise DataError(f"{source_path}: {found} {ids[first + missing[0]].as_py()!r}; {todo}")
    values = [entries[row] for row in range(sizes[chunk])]
    columns = [values] if given.kind == "queries" else [[list(each) for each in values], [list(each.values()) for each in values]]
    write_expansion(output_path, given.kind, [[ids.slice(first, sizes[chunk]), *columns]])
    write_record(
        record_of(output_path),
        job,
        inputs={documents_path: recorded_digest(documents_path)},
        outputs={output_path: file_digest(output_path)},
        seconds={"expand": time.perf_counter() - start},
        sizes={"expand": Path(output_path).stat().st_size},
        counts={f"added_{given.kind}": sum(map(len, values))},
        expansion=given.name,
        kind=given.kind,
        rows=sizes[chunk],
        expansion_source_sha256=file_digest(source_path),
    )


def _entries(path: str, kind: str, ids: pa.Array, rows: range, name: str) -> dict[int, Any]:
    """What is added to the documents of some rows, by row from 0."""
    with Progress(name, None, "lines") as progress:
        return {place - rows.start: value for place, value in given_values(path, kind, ids, progress) if place in rows}


def given_values(path: str, kind: str, ids: pa.Array, progress: Progress | None = None) -> Iterator[tuple[int, Any]]:
    """What a file adds to documents; every line is checked.

    Args:
        path: The JSONL file, plain or gzipped.
        kind: ``queries`` or ``weights``.
        ids: Ids of all documents of the corpus.
        progress: Is told how many lines were read.

    Yields:
        The place of a document in ``ids``, and its queries, or its weights by word; in the order of the file.

    Raises:
        DataError: A line is not as expected, or names a document that is not there, or that another line named before.
    """
    lines = bytearray(len(ids))  # which documents have been named, a byte each
    for numbers, records in _batches(path):
        names = [_id_of(path, number, record) for number, record in zip(numbers, records, strict=True)]
        places = pc.fill_null(pc.index_in(pa.array(names, ids.type), value_set=ids), -1).to_pylist()
        for number, record, doc_id, place in zip(numbers, records, names, places, strict=True):
            if place < 0:
                raise DataError(f"{path}:{number}: the corpus has no document {doc_id!r}; is the file of this corpus?")
            if lines[place]:
                raise DataError(f"{path}:{number}: the document {doc_id!r} is in another line already; one was expected")
            lines[place] = 1
            yield place, _value(path, number, record, kind)
        if progress:
            progress.advance(len(names))


def _batches(path: str, size: int = 8192) -> Iterator[tuple[list[int], list[Any]]]:
    """Numbers and JSON of the lines of a file, some at a time."""
    numbers: list[int] = []
    records: list[Any] = []
    opened = gzip.open if path.endswith(".gz") else open
    try:
        with opened(path, "rb") as stream:
            number = 0
            while line := stream.readline(LINE_BYTES):
                number += 1
                if len(line) >= LINE_BYTES:
                    raise DataError(f"{path}:{number}: expected lines of less than {LINE_BYTES:,} bytes, found a longer one")
                if line.strip():
                    numbers.append(number)
                    records.append(_parsed(path, number, line))
                if len(records) == size:
                    yield numbers, records
                    numbers, records = [], []
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: the file is damaged ({error}); fetch it again") from error
    yield numbers, records


def _parsed(path: str, number: int, line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}:{number}: expected a JSON object on one line, found {_short(line)} ({error})") from None


def _id_of(path: str, number: int, record: Any) -> str:
    found = record.get("id", record.get("_id")) if isinstance(record, dict) else None
    if not isinstance(found, str) or not found:
        raise DataError(f"{path}:{number}: expected an object with 'id', a string that is not empty, found {_short(record)}")
    return found


def _value(path: str, number: int, record: Mapping[str, Any], kind: str) -> Any:
    """The queries or the weights of a line."""
    found, ok = record.get(kind), False
    if kind == "queries":
        ok = isinstance(found, list) and all(isinstance(query, str) for query in found)
        found = [query.strip() for query in found if query.strip()] if ok else found  # type: ignore[union-attr]
    elif isinstance(found, dict):
        wrong = next((word for word, weight in found.items() if not _is_weight(weight)), None)
        if wrong is not None:
            expected = "a number from 0 that is finite"
            raise DataError(f"{path}:{number}: the weight of {wrong!r} is {found[wrong]!r}, expected {expected}")
        ok = True
    if not ok:
        raise DataError(f"{path}:{number}: expected {EXPECTED[kind]}, found {_short(found)}")
    return found


def _is_weight(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:40]} … {text[-40:]}"
