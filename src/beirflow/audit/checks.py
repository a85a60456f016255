"""The result of one check of an audit."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from beirflow.core.errors import DataError

PASSED, FAILED, WARNING, NOT_CHECKED = "passed", "failed", "warning", "not checked"

Result = tuple[str, str]  # a system and a dataset: a row of the summary
EVERYTHING: Result = ("all systems", "all datasets")

SHOWN = 1000  # most files that one check names


@dataclass(frozen=True)
class Check:
    """One check with its finding."""

    name: str  # what was checked, in a few words
    status: str  # ``passed``, ``failed``, ``warning`` or ``not checked``
    found: str  # finding
    expected: str = ""  # expectation; empty where ``found`` implies it
    files: tuple[str, ...] = ()  # paths of the results concerned
    results: tuple[Result, ...] = ()  # systems and datasets whose numbers depend on it
    repair: str = ""  # remedy, a command where there is one
    cause: str = ""  # path of a file that is not as recorded, where this may follow from it

    def renamed(self, here: Path, results: Path) -> "Check":
        """Return the check with a folder of results in place of a scratch folder in its finding."""
        return replace(self, found=self.found.replace(str(here), str(results)))


class RecordError(Exception):
    """A record has a wrong content; ``path`` is the file in the results, None for the one being checked."""

    def __init__(self, message: str, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path


class FormatError(RecordError):
    """A record has a format that this code does not read, so that no command here repairs it."""


UNREADABLE = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RuntimeError,
    ArithmeticError,
    MemoryError,
    EOFError,
    csv.Error,
    DataError,
    RecordError,
    pa.ArrowException,
)
"""Exceptions from reading a file with unexpected content, or one that exhausts memory or threads."""


def unique(results: Iterable[Result]) -> tuple[Result, ...]:
    """Return distinct systems and datasets, sorted."""
    return tuple(sorted(set(results)))
