"""The products of queries with a segment of documents, a query at a time, by scipy's product of a matrix and a vector."""

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from scipy.sparse import csc_array

from beirflow.postings.search import AddUp, Sums
from beirflow.sparse.files import Segment
from beirflow.sparse.rows import Rows


class Backward(NamedTuple):
    """A segment as a search reads it: from its last posting to its first, with weights in double.

    Attributes:
        documents: Their number.
        terms: The terms, ascending, int32 of shape (t,).
        starts: Where the postings of each term begin in the segment itself, and p, int64 of shape (t + 1,).
        rows: The document of each posting, int32 of shape (p,).
        weights: What the term weighs in it, float64 of shape (p,).
    """

    documents: int
    terms: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, segment: Segment) -> Self:
        """Turn a segment round."""
        weights = segment.weights[::-1].astype(np.float64)
        return cls(segment.documents, segment.terms, segment.starts, segment.rows[::-1].copy(), weights)


def products(queries: Rows, segment: Backward) -> Callable[[], AddUp]:
    """What adds up the products of the weights of queries and documents, in the order of the terms.

    The postings of a query's terms are the columns of a matrix, its weights a vector: scipy adds their product in compiled code
    and in the order of the columns. So that no posting is copied, the matrix holds all of them, and between two columns of the
    query stands one that reaches from the end of the first to the beginning of the second. Since the segment lies in memory
    from its last term to its first, that column ends before it begins: it is empty.

    Args:
        queries: The weights of the queries.
        segment: The segment.

    Returns:
        What :func:`~beirflow.postings.search.search_sums` begins with.
    """
    bounds, factors, filled = _columns(queries, segment)

    def begin() -> AddUp:
        matrix = csc_array((segment.documents, factors.shape[1]), dtype=np.float64)
        matrix.data, matrix.indices = segment.weights, segment.rows

        def add_up(query: int) -> Sums | None:
            if not filled[query]:
                return None
            matrix.indptr = bounds[query]
            return Sums(None, matrix @ factors[query])

        return add_up

    return begin


def _columns(queries: Rows, segment: Backward) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The columns of each query: where they begin and the last ends, their factors, and whether there are any at all.

    The first is int32 of shape (queries, columns + 1); the second float64 of shape (queries, columns), 0 for what stands between
    two terms; the third bool of shape (queries,).
    """
    place = np.searchsorted(segment.terms, queries.terms)
    there = np.append(segment.terms, -1)[place] == queries.terms
    place, query = place[there], np.repeat(np.arange(len(queries.counts)), queries.counts)[there]
    counts = np.bincount(query, minlength=len(queries.counts))
    column = 2 * (np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts))
    width = 2 * max(1, int(counts.max(initial=0)))
    bounds, factors = np.zeros((len(counts), width), np.int32), np.zeros((len(counts), width - 1))
    bounds[query, column] = segment.starts[-1] - segment.starts[place + 1]
    bounds[query, column + 1] = segment.starts[-1] - segment.starts[place]
    factors[query, column] = queries.weights[there]
    return bounds, factors, counts > 0
