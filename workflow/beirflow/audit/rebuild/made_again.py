"""Differences between files for reading and the same files made again."""

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from beirflow.audit.digests.chain import Chain
from beirflow.audit.digests.reading import read_columns, read_record
from beirflow.files.csv_files import read_named_csv
from beirflow.files.errors import BeirflowError
from beirflow.files.layout import SCORES
from beirflow.files.records import RECORD_DIGEST

OF_THE_JOB = ("job", "code", "inputs", RECORD_DIGEST)
"""Keys of a record for reading about the job that wrote it, and about files whose digests are compared elsewhere."""

OF_TRACES = ("peak_memory_bytes", "processor_joules", "gpu_joules", "processor_share", "co2_grams")
"""The columns that come from benchmarks and from counted energy, which may be gone."""

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


def other_table(here: Path, made: Path) -> str:
    """Return the difference between tables; memory and energy count only if their sources are here.

    Args:
        here: The file in the results.
        made: The same made again.

    Returns:
        A sentence; empty if it does not differ.
    """
    return other_rows(read_named_csv(str(here)), read_named_csv(str(made)))


def other_rows(found: pd.DataFrame, expected: pd.DataFrame) -> str:
    """The same of tables that were read.

    Args:
        found: What the file in the results has.
        expected: What it should have.

    Returns:
        A sentence; empty if they do not differ.
    """
    if list(found.columns) != list(expected.columns) or len(found) != len(expected):
        return f"{len(found)} rows of {', '.join(found.columns)}"
    for column in expected.columns:
        for row, (one, other) in enumerate(zip(found[column].tolist(), expected[column].tolist(), strict=True), 2):
            both = isinstance(one, int | float) and isinstance(other, int | float)
            gone = other != other
            if (gone and (one != one or column in OF_TRACES)) or one == other:
                continue
            if not (both and math.isclose(one, other, rel_tol=RELATIVE, abs_tol=1e-12)):
                return f"line {row}: {column} is {one}, expected {other}"
    return ""


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
    found, expected = (path.read_text(encoding="utf-8").splitlines() for path in (here, made))
    for number, (one, other) in enumerate(zip(found, expected, strict=False), 1):
        if one != other:
            place = next((i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
            return f"line {number}: {one[max(0, place - 30) : place + 30]!r}, expected {other[max(0, place - 30) : place + 30]!r}"
    return "" if len(found) == len(expected) else f"{len(found)} lines, expected {len(expected)}"
