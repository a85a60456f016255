"""Differences between derived files and the same files made again."""

import gzip
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.audit.reading import part, read_columns, read_record
from beirflow.core import kinds
from beirflow.core.csv_files import NAMES, read_cells
from beirflow.core.errors import DataError
from beirflow.core.extensions import extensions
from beirflow.core.layout import COST
from beirflow.core.outside_json import parse_json
from beirflow.core.records import RECORD_DIGEST
from beirflow.run.job import LOAD

OF_THE_JOB = ("job", "code", "outputs", "made", "seconds", "bytes", "parts", RECORD_DIGEST)
"""Keys of a record for reading about the job that wrote it, and about files whose content is compared by itself."""

MEASURED = ("peak_memory_bytes", LOAD)
"""The columns that come from benchmarks, which may be gone."""

FRACTION = re.compile(r"-?[0-9]+(\.[0-9]+|e[+-]?[0-9]+|\.[0-9]+e[+-]?[0-9]+)")  # a number that may be rounded, as counts may not
RELATIVE = 1e-6  # relative tolerance between numbers of a table; versions of packages round in other places


MOST_TIMES, MORE_BYTES = 4, 1 << 20
"""Times, and bytes more, that a file may have of the same made again; a larger one is not read, since tables fill memory."""


class UnsourcedError(DataError):
    """An error about columns with cells that come from nothing here: ``columns``, and ``added``, those of missing extensions."""

    def __init__(self, columns: Iterable[str], added: Iterable[str] = ()) -> None:
        self.columns, self.added = sorted(columns), sorted(added)
        reasons = [f"what its columns {', '.join(self.columns)} come from is not among the results"] * bool(self.columns)
        reasons += [f"its columns {', '.join(self.added)} need the extension that adds them"] * bool(self.added)
        super().__init__("; ".join(reasons))


class Difference(NamedTuple):
    """A difference between a stored file and the same file made again."""

    problem: str = ""  # in words; empty without one
    of_form: bool = False  # whether the files show the same numbers in another form, as another version may


PIECE_BYTES = 1 << 20

FORMS = (".html", ".tex", ".md", ".bib")
"""Endings of files whose form, not only their numbers, is that of the code."""


def difference(path: str, here: Path, made: Path) -> Difference:
    """Return the difference between a file and the same file made again; UnsourcedError if cells had no source."""
    sizes = here.stat().st_size, made.stat().st_size
    if sizes[0] > MOST_TIMES * sizes[1] + MORE_BYTES:
        return Difference(f"{sizes[0]:,} bytes, expected {sizes[1]:,}")
    if sizes[0] == sizes[1] and here.read_bytes() == made.read_bytes():
        return Difference()
    suffix = here.suffix
    if suffix == ".csv":
        return _other_table(here, made, (*MEASURED, *_from_outside(path)), may_have_more=path == COST)
    if suffix == ".parquet":
        found, expected = read_columns(here, path), pq.read_table(made)
        if not found.equals(expected):
            return Difference("other values")
        return Difference("" if _metadata(found) == _metadata(expected) else "other metadata")
    if suffix == ".json" and RECORD_DIGEST in (record := read_record(made)):
        return _other_record(read_record(here), record)
    if suffix == ".gz":
        return Difference(_other_packed(here, made))
    lines = _other_line(*(file.read_bytes().split(b"\n") for file in (here, made)))
    return Difference(lines, of_form=suffix in FORMS)


def _from_outside(path: str) -> list[str]:
    """Return the columns of a table of an extension that come from no result."""
    tables = [entry for extension in extensions() for entry in extension.from_outside.items()]
    return [column for pattern, columns in tables if pattern.names_in(path) is not None for column in columns]


def _metadata(table: pa.Table) -> dict[bytes, Any]:
    """Return the metadata of a Parquet file, but for the digest of the code that wrote it."""
    said: dict[bytes, Any] = dict(table.schema.metadata or {})
    key = b"beirflow"
    return {**said, key: {**parse_json(said[key]), "code": None}} if key in said else said


def _other_table(here: Path, made: Path, given: Collection[str], *, may_have_more: bool) -> Difference:
    """Compare tables; cells of the columns ``given`` whose sources are gone are empty in the new table and not compared.

    A table that ``may_have_more`` columns has those of extensions, which may not be installed; or some of ``given`` are missing,
    where they were not.
    """
    (found_names, *found), (names, *expected) = (read_cells(path.read_bytes().decode("utf-8")) for path in (here, made))
    added = [name for name in found_names if name not in names] if may_have_more else []
    shared = [name for name in names if name in found_names or not (may_have_more and name in given)]
    if [name for name in found_names if name not in added] != shared or len(found) != len(expected):
        return Difference(f"{len(found)} rows of {', '.join(found_names)}", of_form=len(found) == len(expected))
    not_compared = set[str]()
    for line, row in enumerate(zip(found, expected, strict=True), 2):
        one_of, other_of = (dict(zip(*each, strict=True)) for each in zip((found_names, names), row, strict=True))
        for column in shared:
            one, other = one_of[column], other_of[column]
            if not other and one and column in given:
                not_compared.add(column)
            elif one != other and (column in NAMES or not _is_near(one, other)):
                return Difference(f"line {line}: {column} of {', '.join(row[0][:2])} is {one}, expected {other}")
    if not_compared or added:
        raise UnsourcedError(not_compared, added)
    return Difference()


def _is_near(one: str, other: str) -> bool:
    """Test whether two cells are numbers that differ by rounding only."""
    both = FRACTION.fullmatch(one) and FRACTION.fullmatch(other)
    return bool(both) and math.isclose(float(one), float(other), rel_tol=RELATIVE, abs_tol=1e-12)


def _other_record(found: Mapping[str, Any], expected: Mapping[str, Any]) -> Difference:
    both = [{**record, "inputs": _of_results(record)} for record in (found, expected)]
    keys = [key for key in {**found, **expected} if key not in OF_THE_JOB and both[0].get(key) != both[1].get(key)]
    if not keys:
        return Difference()
    first = next((key for key in keys if key in found and key in expected), keys[0])
    words = f"{', '.join(keys)}: {first} is {_short(found.get(first))}, expected {_short(expected.get(first))}"
    return Difference(f"other {words}", of_form=not any(key in found and key in expected for key in keys))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _of_results(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the inputs with their digests, but for derived files, which are made again, too."""
    return {path: digest for path, digest in part(record, "inputs", kind=dict).items() if not kinds.is_derived(path)}


def _other_packed(here: Path, made: Path) -> str:
    """Compare what two gzipped texts hold, piece by piece: a few bytes can unpack to any number."""
    with gzip.open(here) as one, gzip.open(made) as other:
        while True:
            found, expected = one.read(PIECE_BYTES), other.read(PIECE_BYTES)
            if found != expected:
                return _other_line(found.split(b"\n"), expected.split(b"\n"))
            if not found:
                return ""


def _other_line(found: Iterable[bytes], expected: Iterable[bytes]) -> str:
    for number, (one, other) in enumerate(zip_longest(found, expected), 1):
        if one is None or other is None:
            return f"{number - 1} lines, expected {'more' if one is None else 'no more'}"
        if one != other:
            place = next((i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
            here, there = (each[max(0, place - 30) : place + 30].decode("utf-8", "replace").strip() for each in (one, other))
            return f"line {number}: “{here}”, expected “{there}”"
    return ""
