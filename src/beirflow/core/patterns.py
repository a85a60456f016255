"""Patterns of paths below the results, with names in braces.

Rules use a pattern as it is, and Python fills it in: ``RUN(system="bm25", dataset="scifact")``.
"""

import re
from collections.abc import Iterable
from functools import cache
from types import ModuleType
from typing import Self

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
"""Form of the name of a system, a dataset or the like: it names one folder and never leaves it."""

SAFE_PATH = re.compile(rf"{NAME}(?:/{NAME})*")


class Pattern(str):
    """A path below the results, with the names that it depends on in braces.

    ``content`` says what such a file holds; it is empty of files that nobody asks for by name.
    """

    __slots__ = ("content",)
    content: str

    def __new__(cls, path: str, content: str = "") -> Self:
        """Make a pattern."""
        made = super().__new__(cls, path)
        made.content = content
        return made

    def __call__(self, **names: str | int | None) -> str:
        """Return the path below the results, given a value for every name in braces."""
        return str(self).format(**names)  # of no name in braces, a plain string too

    def names_in(self, path: str) -> dict[str, str] | None:
        """Return the values of the names in a path below the results; None if the path is not of this kind."""
        match = _expression(self).fullmatch(path)
        return match.groupdict() if match else None

    def pairs_in(self, paths: Iterable[str]) -> list[tuple[str, str]]:
        """Return the system and the dataset in each path that is of this kind."""
        return [(names["system"], names["dataset"]) for path in paths if (names := self.names_in(path))]

    def folder(self, **names: str) -> str:
        """Return the folder below the results, with a slash at its end, up to the first name that is not given."""
        filled = re.sub(r"\{(\w+)\}", lambda match: names.get(match[1], match[0]), self)
        return filled.partition("{")[0].rpartition("/")[0] + "/"

    def below(self, folder: str) -> str:
        """Return the pattern in a folder such as ``<results>``: a plain string, since Snakemake calls what can be called."""
        return f"{folder}/{self}"


class Derived(Pattern):
    """A pattern of files that are made from the results for people and other programs; no result depends on them."""

    __slots__ = ()


class Trace(Pattern):
    """A pattern of logs and benchmarks, by the name of the job; no result and no digest depends on them."""

    __slots__ = ()


def patterns_in(layout: ModuleType) -> tuple[Pattern, ...]:
    """Return the patterns that a module of paths holds."""
    return tuple(value for value in vars(layout).values() if isinstance(value, Pattern))


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", pattern)
    literals, names = parts[::2], parts[1::2]
    # A chunk is a number, so that a name like chunk-a is never taken for one.
    named = [rf"(?P<{name}>\d+)" if name == "chunk" else rf"(?P<{name}>{NAME})" for name in names]
    return re.compile("".join(a + b for a, b in zip(map(re.escape, literals), [*named, ""], strict=True)))


def is_safe(path: str) -> bool:
    """Test whether a path of any origin stays below the results."""
    return SAFE_PATH.fullmatch(path) is not None
