"""Given expansions: JSONL with an id and queries, or an id and weights by word."""

import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from pandas.util import hash_array

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.layout import record_of
from beirflow.core.progress import Progress
from beirflow.core.records import Job, write_record
from beirflow.core.verified import unchanged
from beirflow.core.writing import scratch_file
from beirflow.data.corpus_files import recorded_digest
from beirflow.data.sources.json_lines import lines_in, read_value, short
from beirflow.data.sources.source import read_blocks, stream_of_lines
from beirflow.families.expansions.files import WINDOW_ROWS, write_expansion
from beirflow.families.expansions.settings import Expansion
from beirflow.ranking.searched import EXPANSION_SOURCE, read_every_id

BLOCK_IDS = 1 << 18  # number of ids that are Python strings at a time

EXPECTED = {"queries": "'queries', a list of strings", "weights": "'weights', an object with a number from 0 for each word"}


def read_given(*, given: Expansion, source_path: str, documents_path: str, chunk: int, output_path: str, job: Job) -> None:
    """Read the expansion of one chunk from a JSONL file, plain or gzipped, and write it as Parquet with its record.

    Raises DataError if a line is not as expected, names a document that the corpus does not have, or one that another line named
    before; if a document of the chunk is in no line; or if the file changed while it was read.
    """
    start = time.perf_counter()
    ids, sizes = read_every_id(documents_path)
    first = sum(sizes[:chunk])
    with scratch_file(output_path) as scratch:
        kept = _Kept(scratch, sizes[chunk])
        with unchanged(source_path) as digest:
            _read_lines(source_path, given.kind, ids, first, kept, job.name)
        missing = kept.missing
        if len(missing):
            problem = f"{len(missing):,} of the {sizes[chunk]:,} documents of chunk {chunk} have no line, first"
            todo = "an empty list or object stands for no expansion"
            raise DataError(f"{source_path}: {problem} {ids[first + int(missing[0])].as_py()!r}; {todo}")
        write_expansion(output_path, given.kind, _windows(given.kind, ids.slice(first, sizes[chunk]), kept))
    read_from: dict[str, Any] = {EXPANSION_SOURCE: digest}
    write_record(
        record_of(output_path),
        job,
        inputs={documents_path: recorded_digest(documents_path)},
        outputs={output_path: file_digest(output_path)},
        seconds={"expand": time.perf_counter() - start},
        sizes={"expand": Path(output_path).stat().st_size},
        counts={f"added_{given.kind}": kept.added},
        expansion=given.name,
        kind=given.kind,
        rows=sizes[chunk],
        **read_from,
    )


class _Kept:
    """Additions to the documents of a chunk until they are written in order: on the disk, since they may be large.

    The stream is an empty file to write and read.
    """

    def __init__(self, stream: BinaryIO, rows: int) -> None:
        self.rows, self.added = rows, 0
        self._stream, self._end = stream, 0
        self._places, self._sizes = np.full(rows, -1, np.int64), np.zeros(rows, np.int64)

    @property
    def missing(self) -> np.ndarray:
        """Rows of documents that nothing has been kept for, int64."""
        return np.flatnonzero(self._places < 0)

    def add(self, row: int, value: Any) -> None:
        """Keep the addition to a document; all of them before the first is read."""
        line = orjson.dumps(value)
        self._places[row], self._sizes[row] = self._end, self._stream.write(line)
        self._end += len(line)
        self.added += len(value)

    def read(self, rows: range) -> list[Any]:
        """Read the additions to some documents, one after the other."""
        values: dict[int, Any] = {}
        for row in (rows.start + np.argsort(self._places[rows.start : rows.stop])).tolist():
            self._stream.seek(self._places[row])
            values[row] = orjson.loads(self._stream.read(self._sizes[row]))
        return [values[row] for row in rows]


def _windows(kind: str, doc_ids: pa.Array, kept: _Kept) -> Iterator[list[Any]]:
    """Yield the columns of an expansion, some rows at a time."""
    for start in range(0, len(doc_ids), WINDOW_ROWS):
        ids = doc_ids.slice(start, WINDOW_ROWS)
        values = kept.read(range(start, start + len(ids)))
        yield (
            [ids, values]
            if kind == "queries"
            else [ids, [list(each) for each in values], [list(each.values()) for each in values]]
        )


def _read_lines(path: str, kind: str, ids: pa.Array, first: int, kept: _Kept, name: str) -> None:
    """Check every line, and keep what is added to the documents of a chunk, whose first one has the row ``first``."""
    rows = range(first, first + kept.rows)
    with Progress(name, None, "lines") as progress:
        for place, value in given_values(path, kind, ids, progress):
            if place in rows:
                kept.add(place - first, value)


def given_values(path: str, kind: str, ids: pa.Array, progress: Progress | None = None) -> Iterator[tuple[int, Any]]:
    """Yield the place of each document of a JSONL file in ``ids``, and its queries or its weights by word, in their order.

    ``kind`` is ``queries`` or ``weights``; ``progress`` counts lines. Raises DataError if a line is not as expected, or names a
    document that is not there, or that another line named before.
    """
    documents, lines = RowsById(ids), bytearray(len(ids))  # which documents have been named, a byte each
    for numbers, records in _records(path):
        names = [_id_of(path, number, record) for number, record in zip(numbers, records, strict=True)]
        places = documents.find(pa.array(names, ids.type)).tolist()
        for number, record, doc_id, place in zip(numbers, records, names, places, strict=True):
            if place < 0:
                raise DataError(f"{path}:{number}: the corpus has no document {doc_id!r}; does the file belong to this corpus?")
            if lines[place]:
                raise DataError(f"{path}:{number}: the document {doc_id!r} is in another line already; one was expected")
            lines[place] = 1
            yield place, _value(path, number, record, kind)
        if progress:
            progress.advance(len(names))


class RowsById:
    """The rows of the documents of a corpus by their ids, strings of shape (n,), no two of which are the same.

    Arrow's ``index_in`` would build a table of the corpus for each lookup.
    """

    def __init__(self, ids: pa.Array) -> None:
        self._ids = ids
        blocks = [_hashes(ids.slice(start, BLOCK_IDS)) for start in range(0, len(ids), BLOCK_IDS)]
        hashes = np.concatenate([np.empty(0, np.uint64), *blocks])
        self._rows = np.argsort(hashes)
        self._hashes = hashes[self._rows]

    def find(self, names: pa.Array) -> np.ndarray:
        """Return the row of each id, -1 where there is none, int64 of shape (m,)."""
        hashes, matches = _hashes(names), np.full(len(names), -1)
        places = np.searchsorted(self._hashes, hashes)
        left = np.arange(len(names))
        while len(left):  # once, but for ids that share a hash
            left = left[places[left] < len(self._rows)]
            left = left[self._hashes[places[left]] == hashes[left]]
            rows = self._rows[places[left]]
            same = pc.equal(self._ids.take(pa.array(rows)), names.take(pa.array(left))).to_numpy(zero_copy_only=False)
            matches[left[same]] = rows[same]
            left = left[~same]
            places[left] += 1
        return matches


def _hashes(names: pa.Array) -> np.ndarray:
    return hash_array(names.to_numpy(zero_copy_only=False), categorize=False)


def _records(path: str) -> Iterator[tuple[list[int], list[Any]]]:
    """Yield numbers and JSON of the lines of a file, a block at a time."""
    with stream_of_lines(Path(path), path) as stream:
        for numbered_block in read_blocks(stream, path):
            lines = list(lines_in(*numbered_block))
            yield [number for number, _ in lines], [read_value(path, *line) for line in lines]


def _id_of(path: str, number: int, record: Any) -> str:
    identifier = record.get("id", record.get("_id")) if isinstance(record, dict) else None
    if not isinstance(identifier, str) or not identifier:
        raise DataError(f"{path}:{number}: expected an object with a non-empty string 'id', found {short(record)}")
    return identifier


def _value(path: str, number: int, record: Mapping[str, Any], kind: str) -> Any:
    """Return the queries or the weights of a line."""
    value, ok = record.get(kind), False
    if kind == "queries":
        ok = isinstance(value, list) and all(isinstance(query, str) for query in value)
        value = [query.strip() for query in value if query.strip()] if ok else value  # type: ignore[union-attr]
    elif isinstance(value, dict):
        wrong = next((word for word, weight in value.items() if not _is_weight(weight)), None)
        if wrong is not None:
            expected = "a finite number of at least 0"
            raise DataError(f"{path}:{number}: the weight of {wrong!r} is {value[wrong]!r}, expected {expected}")
        ok = True
    if not ok:
        raise DataError(f"{path}:{number}: expected {EXPECTED[kind]}, found {short(value)}")
    return value


def _is_weight(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
