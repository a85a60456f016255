"""Segments of texts that have several entries each, such as the weights of their terms."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

Entries = TypeVar("Entries", bound=tuple[np.ndarray, ...])
"""A named tuple: the number of entries of each text, int64 of shape (texts,), and columns of all entries, text after text."""


def cut(windows: Iterable[Entries], entries: int, texts: int = 1 << 62) -> Iterator[Entries]:
    """Yield segments of at most so many entries and texts; a text alone may have more entries.

    Where a segment ends does not depend on how many texts come at once.
    """
    waiting: list[Entries] = []
    for window in windows:
        counts, *columns = window
        make: Any = type(window)
        starts, first = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]), 0
        while first < len(counts):
            room = entries - sum(int(part[0].sum()) for part in waiting)
            last = int(np.searchsorted(starts, starts[first] + room, side="right")) - 1
            last = max(last, first + (not waiting))  # a text alone may be larger, and leaves no room for others
            last = min(last, first + texts - sum(len(part[0]) for part in waiting))
            if last > first:
                here = slice(starts[first], starts[last])
                waiting.append(make(counts[first:last], *(column[here] for column in columns)))
            if last < len(counts):
                yield _together(waiting)
                waiting = []
            first = last
    if waiting:
        yield _together(waiting)


def _together(parts: list[Entries]) -> Entries:
    make: Any = type(parts[0])
    joined: Entries = make(*map(np.concatenate, zip(*parts, strict=True)))
    return joined
