"""The result of one check of an audit."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from beirflow.files.errors import DataError

PASSED, FAILED, WARNING, NOT_CHECKED = "passed", "failed", "warning", "not checked"

Result = tuple[str, str]
"""A system and a dataset: a row of the summary."""

EVERYTHING: Result = ("all systems", "all datasets")


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: What was looked at, in a few words.
        status: ``passed``, ``failed``, ``warning`` or ``not checked``.
        found: What is the case.
        expected: What should be; empty where ``found`` says it all.
        files: Paths in the results that it is about.
        results: Systems and datasets whose numbers depend on it.
        repair: What to do, a command where there is one.
    """

    name: str
    status: str
    found: str
    expected: str = ""
    files: tuple[str, ...] = ()
    results: tuple[Result, ...] = field(default=())
    repair: str = ""


class RecordError(Exception):
    """A record does not hold what it should.

    Args:
        message: What is wrong.
        path: The file that it is about, in the results; None for the one that was being looked at.
    """

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
    NotImplementedError,
    RecursionError,
    ArithmeticError,
    MemoryError,
    EOFError,
    DataError,
    RecordError,
)
"""Errors of reading a file with unexpected content, Arrow's exceptions included."""


def unique(results: Iterable[Result]) -> tuple[Result, ...]:
    """Systems and datasets, each once, in order."""
    return tuple(sorted(set(results)))


def unreadable(name: str, path: str, error: Exception, results: Iterable[Result], repair: str) -> Check:
    """The check of a file that cannot be read, or does not hold what it should.

    Args:
        name: What was looked at.
        path: The file, in the results.
        error: What reading it raised.
        results: What depends on it.
        repair: What to do.

    Returns:
        A check that failed; "not checked" where a file is missing, since that is a failure of its own elsewhere.
    """
    if isinstance(error, FileNotFoundError):
        return Check(name, NOT_CHECKED, f"{path}: {error.filename} is missing", "", (path,), unique(results), repair)
    found = str(error) if isinstance(error, (RecordError, DataError)) else f"{type(error).__name__}: {str(error)[:200]}"
    return Check(name, FAILED, f"{path}: {found}", "what beirflow writes", (path,), unique(results), repair)
