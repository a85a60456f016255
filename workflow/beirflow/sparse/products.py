"""A segment of documents during search, and the lists of it that queries have, each with its factor."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from beirflow.files.background import map_ahead
from beirflow.postings.search import Lists, WantedLists
from beirflow.sparse.files import SEGMENT_POSTINGS, Segment
from beirflow.sparse.rows import Rows

TURNED_POSTINGS = 1 << 20
"""Postings that a thread turns round at a time."""


class Backward(NamedTuple):
    """A segment as a search reads it: from its last posting to its first, with weights in double.

    Attributes:
        terms: The terms, ascending, int32 of shape (t,).
        starts: Where the postings of each term begin in the segment itself, and p, int64 of shape (t + 1,).
        lists: The postings, a list for each term.
    """

    terms: np.ndarray
    starts: np.ndarray
    lists: Lists

    @classmethod
    def of(cls, segment: Segment) -> Self:
        """Turn a segment round."""
        lists = Lists(segment.documents, segment.rows[::-1].astype(np.int32), segment.weights[::-1].astype(np.float64))
        return cls(segment.terms, segment.starts, lists)


def turned_round(segments: Iterable[Segment], threads: int) -> Iterator[Backward]:
    """Turn segments round, each in the memory of the one before: fresh memory takes longer to get than postings to turn.

    Args:
        segments: The segments.
        threads: Threads to work with.

    Yields:
        Each segment, until the next one is asked for.
    """
    rows, values = np.empty(0, np.int32), np.empty(0)
    for segment in segments:
        size = len(segment.rows)
        if size > len(rows):
            room = max(size, SEGMENT_POSTINGS)  # memory that is never written costs nothing
            rows, values = np.empty(room, np.int32), np.empty(room)
        lists = Lists(segment.documents, rows[:size], values[:size])
        parts = [slice(first, first + TURNED_POSTINGS) for first in range(0, size, TURNED_POSTINGS)]
        for _ in map_ahead(partial(_turn_round, segment, lists), parts, threads):
            pass
        yield Backward(segment.terms, segment.starts, lists)


def _turn_round(segment: Segment, into: Lists, part: slice) -> None:
    into.rows[part] = segment.rows[::-1][part]
    into.values[part] = segment.weights[::-1][part]


def lists_of(queries: Rows, segment: Backward) -> WantedLists:
    """The lists of each query's terms, each with the term's weight.

    Args:
        queries: The weights of the queries.
        segment: The segment.

    Returns:
        The lists, in the order of the terms; those of terms that the segment does not have are empty.
    """
    first = np.searchsorted(segment.terms, queries.terms)
    behind = np.searchsorted(segment.terms, queries.terms, side="right")
    spans = segment.starts[-1] - segment.starts[np.stack([behind, first], axis=1)]
    return WantedLists(spans, queries.weights.astype(np.float64), queries.starts)
