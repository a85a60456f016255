"""A segment of documents during search, and the lists of it that queries have, each with its factor."""

from typing import NamedTuple, Self

import numpy as np

from beirflow.postings.search import Lists, WantedLists
from beirflow.sparse.files import Segment
from beirflow.sparse.rows import Rows


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
