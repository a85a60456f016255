"""Differences between files for reading and the same files made again."""

import math
import re
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import pyarrow.parquet as pq

from beirflow.audit.digests.chain import Chain
from beirflow.audit.digests.reading import read_columns, read_packed_lines, read_record
from beirflow.files.csv_files import NAMES, read_cells
from beirflow.files.errors import BeirflowError, DataError
from beirflow.files.layout import SCORES
from beirflow.files.records import RECORD_DIGEST

OF_THE_JOB = ("job", "code", "inputs", RECORD_DIGEST)
"""Keys of a record for reading about the job that wrote it, and about files whose digests are compared elsewhere."""

MEASURED = ("peak_memory_bytes", "processor_joules", "gpu_joules", "processor_share", "co2_grams")
"""The columns that come from benchmarks and from counted energy, which may be gone."""

NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")

RELATIVE = 1e-6
"""Relative tolerance between numbers of a table; versions of packages round in other places."""


def link_results(chain: Chain, folder: Path, names: Sequence[str]) -> None:
    """Let names in a folder of their own lead to the results, where nothing below them is a link itself.

    Args:
        chain: What records say.
        folder: It is made if it is not there.
        names: Files and folders below the results.

    Raises:
        BeirflowError: Something there is no plain file.
    """
    folder.mkdir(exist_ok=True)
    for name in names:
        if any(path == name or path.startswith(f"{name}/") for path in chain.listing.odd):
            raise BeirflowError(f"{name} holds what is no plain file")
        if not (folder / name).is_symlink():
            (folder / name).symlink_to((chain.folder / name).resolve())


def other_scores(here: Path, made: Path) -> str:
    """Return the difference between the scores of all queries.

    Args:
        here: The file in the results.
        made: The same made again.

    Returns:
        A sentence; empty if it does not differ.
    """
    return "" if read_columns(here, SCORES).equals(pq.read_table(made)) else "other scores"


def other_table(here: Path, made: Path, given: Sequence[str] = MEASURED) -> str:
    """Return the difference between tables.

    Args:
        here: The file in the results.
        made: The same made again.
        given: Columns whose sources may not be among the results: a cell that is empty in the new table is not compared.

    Returns:
        A sentence; empty if it does not differ.

    Raises:
        DataError: Nothing differs, but some cells of these columns could not be compared.
    """
    (found_names, *found), (names, *expected) = (read_cells(path.read_bytes().decode("utf-8")) for path in (here, made))
    if found_names != names or len(found) != len(expected):
        return f"{len(found)} rows of {', '.join(found_names)}"
    not_compared = set[str]()
    for line, row in enumerate(zip(found, expected, strict=True), 2):
        for column, one, other in zip(names, *row, strict=True):
            if not other and one and column in given:
                not_compared.add(column)
            elif one != other and (column in NAMES or not _is_near(one, other)):
                return f"line {line}: {column} is {one}, expected {other}"
    if not_compared:
        raise DataError(f"what its columns {', '.join(sorted(not_compared))} come from is not among the results")
    return ""


def _is_near(one: str, other: str) -> bool:
    """Test whether two cells are numbers that differ by rounding only."""
    both = NUMBER.fullmatch(one) and NUMBER.fullmatch(other)
    return bool(both) and math.isclose(float(one), float(other), rel_tol=RELATIVE, abs_tol=1e-12)


def other_record(here: Path, made: Path) -> str:
    """Return the difference between inspections, apart from the job.

    Args:
        here: The file in the results.
        made: The same made again.

    Returns:
        A sentence; empty if it does not differ.
    """
    found, expected = (read_record(path) for path in (here, made))
    keys = [key for key in {**found, **expected} if key not in OF_THE_JOB and found.get(key) != expected.get(key)]
    return f"other {', '.join(keys)}" if keys else ""


def other_page(here: Path, made: Path) -> str:
    """Return the difference between pages.

    Args:
        here: The file in the results.
        made: The same made again.

    Returns:
        A sentence; empty if it does not differ.
    """
    found, expected = (path.read_bytes().split(b"\n") for path in (here, made))
    for number, (one, other) in enumerate(zip(found, expected, strict=False), 1):
        if one != other:
            place = next((i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
            return f"line {number}: {one[max(0, place - 30) : place + 30]!r}, expected {other[max(0, place - 30) : place + 30]!r}"
    return "" if len(found) == len(expected) else f"{len(found)} lines, expected {len(expected)}"


def other_packed(here: Path, made: Path) -> str:
    """Return the difference between gzipped texts.

    Args:
        here: The file in the results.
        made: The same made again.

    Returns:
        A sentence; empty if it does not differ.

    Raises:
        ValueError: The file is not as beirflow packs it.
    """
    for number, (one, other) in enumerate(zip_longest(read_packed_lines(here), read_packed_lines(made)), 1):
        if one != other:
            return f"line {number}: {one and one[:60]!r}, expected {other and other[:60]!r}"
    return ""
