"""The result of one check of an audit."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from beirflow.core.errors import DataError

PASSED, FAILED, WARNING, NOT_CHECKED = "passed", "failed", "warning", "not checked"

Result = tuple[str, str]  # a system and a dataset: a row of the summary
EVERYTHING: Result = ("all systems", "all datasets")

SHOWN = 1000  # most files that one check names


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str  # what was looked at, in a few words
    status: str  # ``passed``, ``failed``, ``warning`` or ``not checked``
    found: str  # what is the case
    expected: str = ""  # what should be; empty where ``found`` says it all
    files: tuple[str, ...] = ()  # paths in the results that it is about
    results: tuple[Result, ...] = field(default=())  # systems and datasets whose numbers depend on it
    repair: str = ""  # what to do, a command where there is one


class RecordError(Exception):
    """A record does not hold what it should; ``path`` is the file in the results, None for the one that was being looked at."""

    def __init__(self, message: str, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path


UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    IndexError,
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
"""Errors of reading a file with unexpected content, or one that takes all memory or threads."""


def unique(results: Iterable[Result]) -> tuple[Result, ...]:
    """Return systems and datasets, each once, in order."""
    return tuple(sorted(set(results)))
