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
        drawn: Number of documents or pairs that were made again, and of all; None for other checks.
    """

    name: str
    status: str
    found: str
    expected: str = ""
    files: tuple[str, ...] = ()
    results: tuple[Result, ...] = field(default=())
    repair: str = ""
    drawn: tuple[int, int] | None = None


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
