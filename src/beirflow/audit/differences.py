"""Differences between derived files and their rebuilt versions."""

import gzip
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.audit.folder.reading import part, read_columns, read_record, short
from beirflow.core import kinds
from beirflow.core.csv_files import NAMES, read_cells
from beirflow.core.errors import DataError
from beirflow.core.extensions import extensions
from beirflow.core.layout import COST
from beirflow.core.outside_json import parse_json
from beirflow.core.records import RECORD_DIGEST
from beirflow.run.job import LOAD

OF_THE_JOB = ("job", "code", "outputs", "made", "seconds", "bytes", "parts", RECORD_DIGEST)
"""Keys of the record of a derived file about its job, and about files whose content is compared separately."""

MEASURED = ("peak_memory_bytes", LOAD)
"""Columns from benchmarks, which may have been deleted."""

FRACTION = re.compile(r"-?[0-9]+(\.[0-9]+|e[+-]?[0-9]+|\.[0-9]+e[+-]?[0-9]+)")  # a number that may be rounded, as counts may not
RELATIVE = 1e-6  # relative tolerance between numbers of a table; versions of packages round in other places
LAST_BITS = 1e-14  # relative tolerance between numbers in double, whose last bits depend on the processor


MOST_TIMES, MORE_BYTES = 4, 1 << 20
"""Maximum size of a file relative to its rebuilt version: factor and bytes. Larger ones are not read, to save memory."""


class UnsourcedError(DataError):
    """Columns of a table cannot be rebuilt: their source is not here, or they need a missing extension."""


class Difference(NamedTuple):
    """A difference between a stored and a rebuilt file."""

    problem: str = ""  # description; empty if the files agree
    of_form: bool = False  # whether the same numbers are only formatted otherwise, as by another version


LINE_BYTES = 1 << 20  # longer lines are compared piece by piece: a few bytes can unpack to any size

FORMS = (".html", ".tex", ".md", ".bib")
"""Suffixes of files whose formatting depends on the code."""


def difference(path: str, here: Path, made: Path, unsourced: Collection[str] = ()) -> Difference:
    """Return the difference between a file and its rebuilt version; UnsourcedError if some cells, or columns, have no source."""
    sizes = here.stat().st_size, made.stat().st_size
    if sizes[0] > MOST_TIMES * sizes[1] + MORE_BYTES:
        return Difference(f"{sizes[0]:,} bytes, expected {sizes[1]:,}")
    if not unsourced and sizes[0] == sizes[1] and here.read_bytes() == made.read_bytes():
        return Difference()
    suffix = here.suffix
    if suffix == ".csv":
        return _other_table(here, made, (*MEASURED, *_from_outside(path)), unsourced, may_have_more=path == COST)
    if suffix == ".parquet":
        found, expected = read_columns(here, path), pq.read_table(made)
        if not _same_values(found, expected):
            return Difference("other values")
        return Difference("" if _metadata(found) == _metadata(expected) else "other metadata")
    if suffix == ".json" and RECORD_DIGEST in (record := read_record(made)):
        return _other_record(read_record(here), record)
    return Difference(_other_line(_lines(here), _lines(made)), of_form=suffix in FORMS)


def _from_outside(path: str) -> list[str]:
    """Return the columns of an extension's table that are not computed from results."""
    tables = [entry for extension in extensions() for entry in extension.from_outside.items()]
    return [column for pattern, columns in tables if pattern.names_in(path) is not None for column in columns]


def _same_values(one: pa.Table, other: pa.Table) -> bool:
    """Test whether tables are equal but for the last bits of numbers in double."""
    if not one.schema.equals(other.schema) or one.num_rows != other.num_rows:
        return False
    doubles = [field.name for field in other.schema if pa.types.is_float64(field.type)]
    return one.drop_columns(doubles).equals(other.drop_columns(doubles)) and all(
        one[name].is_null().equals(other[name].is_null())
        and np.allclose(one[name].to_numpy(), other[name].to_numpy(), rtol=LAST_BITS, atol=0, equal_nan=True)
        for name in doubles
    )


def _metadata(table: pa.Table) -> dict[bytes, Any]:
    """Return the metadata of a Parquet file without the digest of the code that wrote it."""
    metadata: dict[bytes, Any] = dict(table.schema.metadata or {})
    key = b"beirflow"
    return {**metadata, key: {**parse_json(metadata[key]), "code": None}} if key in metadata else metadata


def _other_table(
    here: Path, made: Path, given: Collection[str], unsourced: Collection[str], *, may_have_more: bool
) -> Difference:
    """Compare tables; cells of the columns ``given`` whose sources are missing are empty in the rebuilt table and not compared.

    ``may_have_more`` allows columns of extensions on either side.
    """
    (found_names, *found), (names, *expected) = (read_cells(path.read_bytes().decode("utf-8")) for path in (here, made))
    added = [name for name in found_names if name not in names] if may_have_more else []
    shared = [name for name in names if name in found_names or not (may_have_more and name in given)]
    if [name for name in found_names if name not in added] != shared or len(found) != len(expected):
        return Difference(f"{len(found)} rows of {', '.join(found_names)}", of_form=len(found) == len(expected))
    not_compared = {*unsourced}
    for line, row in enumerate(zip(found, expected, strict=True), 2):
        one_of, other_of = (dict(zip(*each, strict=True)) for each in zip((found_names, names), row, strict=True))
        for column in shared:
            one, other = one_of[column], other_of[column]
            if not other and one and column in given:
                not_compared.add(column)
            elif one != other and (column in NAMES or not _is_near(one, other)):
                return Difference(f"line {line}: {column} of {', '.join(row[0][:2])} is {one}, expected {other}")
    reasons = [f"the source of its columns {', '.join(sorted(not_compared))} is not among the results"] * bool(not_compared)
    reasons += [f"its columns {', '.join(sorted(added))} need the extension that adds them"] * bool(added)
    if reasons:
        raise UnsourcedError("; ".join(reasons))
    return Difference()


def _is_near(one: str, other: str) -> bool:
    """Test whether two cells are numbers that differ by rounding only."""
    both = FRACTION.fullmatch(one) and FRACTION.fullmatch(other)
    return bool(both) and math.isclose(float(one), float(other), rel_tol=RELATIVE, abs_tol=1e-12)


def _other_record(found: Mapping[str, Any], expected: Mapping[str, Any]) -> Difference:
    both = [{**record, "inputs": _of_results(record)} for record in (found, expected)]
    keys = [key for key in {**found, **expected} if key not in OF_THE_JOB and not _is_same(both[0].get(key), both[1].get(key))]
    if not keys:
        return Difference()
    first = next((key for key in keys if key in found and key in expected), keys[0])
    words = f"{', '.join(keys)}: {first} is {short(found.get(first))}, expected {short(expected.get(first))}"
    return Difference(f"other {words}", of_form=not any(key in found and key in expected for key in keys))


def _is_same(one: Any, other: Any) -> bool:
    """Test whether values of two records are equal but for the last bits of numbers in double."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(value, other[key]) for key, value in one.items())
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=LAST_BITS)
    return bool(one == other)


def _of_results(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the digests of the inputs without derived files, which are rebuilt too."""
    return {path: digest for path, digest in part(record, "inputs", kind=dict).items() if not kinds.is_derived(path)}


def _lines(file: Path) -> Iterator[bytes]:
    """Yield the lines of a text, or of a packed one."""
    with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
        yield from iter(partial(stream.readline, LINE_BYTES), b"")


def _other_line(found: Iterable[bytes], expected: Iterable[bytes]) -> str:
    for number, (one, other) in enumerate(zip_longest(found, expected), 1):
        if one is None or other is None:
            return f"{number - 1} lines, expected {'more' if one is None else 'no more'}"
        if one != other:
            place = next((i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
            here, there = (each[max(0, place - 30) : place + 30].decode("utf-8", "replace").strip() for each in (one, other))
            return f"line {number}: “{here}”, expected “{there}”"
    return ""
