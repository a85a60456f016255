"""Exact search of scored lists, the best k documents of each query; BM25 and learned weights differ in how scores are added up.

A list has documents and their scores; a query has some lists. Scores are added in double in the order of the query's lists and
rounded to float32 once. So a score depends on the query, the document and their lists alone, not on what else is searched at the
same time, nor on the number of threads.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from beirflow.files.background import map_ahead
from beirflow.runs.ranking import Hits, merge_hits

SLICE_QUERIES = 32
"""Queries that a thread searches at a time."""

SPARSE = 32
"""A query with fewer postings than this part of the documents is not spread over all of them."""


class Lists(NamedTuple):
    """Lists of documents with their scores.

    Attributes:
        rows: The documents, by their numbers, ascending inside a list, int32 or int64 of shape (postings,).
        scores: Their scores, above 0, float32 or float64 of shape (postings,).
        spans: Where each list begins and ends, int64 of shape (lists, 2); 0 and 0 for an empty one.
        bounds: The score that at least k documents other than the excluded one reach by a list alone, float64 of shape (lists,);
            0 if it is not known, or if there are fewer.
        documents: Number of documents.
    """

    rows: np.ndarray
    scores: np.ndarray
    spans: np.ndarray
    bounds: np.ndarray
    documents: int


class WantedLists(NamedTuple):
    """The lists of each query.

    Attributes:
        lists: Numbers of the lists, query after query, int64 of shape (n,).
        starts: Where those of each query begin, and n, int64 of shape (queries + 1,).
    """

    lists: np.ndarray
    starts: np.ndarray

    def of(self, query: int, lists: Lists) -> np.ndarray:
        """The lists of a query that are not empty."""
        every = self.lists[self.starts[query] : self.starts[query + 1]]
        return every[lists.spans[every, 1] > 0]


Found: TypeAlias = tuple[Hits, int]
"""Hits of some queries, and how many documents score, but were left out."""


class Sums(NamedTuple):
    """What documents score for one query.

    Attributes:
        rows: The documents, ascending, int64 of shape (n,); None for all of them.
        values: Their scores, 0 for no match, float64 of shape (n,); who reads them may change them.
        bound: A score that at least k documents other than the excluded one reach; 0 if none is known.
    """

    rows: np.ndarray | None
    values: np.ndarray
    bound: float = 0.0


AddUp: TypeAlias = Callable[[int], Sums | None]
"""From the number of a query to what documents score; None where it has no list. An answer may be gone when the next is there."""


class Cut(NamedTuple):
    """Which documents of a query are kept.

    Attributes:
        k: Documents to keep for each query.
        id_order: Place of each document's id in the order of ties, int64 of shape (documents,).
        excluded: For each query the document that is left out, or -1; shape (queries,).
        least: For each query a score that k other documents reach, float32 of shape (queries,); minus infinity if none is known.
    """

    k: int
    id_order: np.ndarray
    excluded: np.ndarray
    least: np.ndarray


def search_lists(lists: Lists, wanted: WantedLists, queries: Sequence[int], cut: Cut, threads: int = 1) -> Iterator[Found]:
    """The k best documents of some queries by the ranking rule, among those that are in one of their lists.

    Args:
        lists: The lists.
        wanted: Which of them each query has.
        queries: Numbers of the queries to search.
        cut: What is kept.
        threads: Threads to compute with.

    Yields:
        Number of the query and number of the document, int32, and score, float32, of the hits of some queries, sorted by query
        and rank; and how many documents are in a list of these queries, but were left out.
    """

    def search(some: Sequence[int]) -> Found:
        hits, left_out = search_sums(partial(_sums_of, lists, wanted, _Room()), some, cut)
        return merge_hits([hits], lambda rows: cut.id_order[rows], cut.k)[:3], left_out

    yield from map_ahead(search, slices_of(queries), threads)


def slices_of(queries: Sequence[int]) -> list[Sequence[int]]:
    """Queries that a thread searches at a time."""
    return [queries[start : start + SLICE_QUERIES] for start in range(0, len(queries), SLICE_QUERIES)]


def search_sums(add_up: AddUp, queries: Sequence[int], cut: Cut) -> Found:
    """The k best documents of some queries by the ranking rule, among those that score above 0.

    Args:
        add_up: Adds up the scores of a query.
        queries: Numbers of the queries.
        cut: What is kept.

    Returns:
        Number of the query and number of the document, int32, and score, float32, of the hits, sorted by query and in no order of
        ranks; and how many documents score, but were left out.
    """
    found = [_search_one(add_up(query), cut, query) for query in queries]
    numbers = np.repeat(np.array(queries, np.int32), [len(rows) for rows, *_ in found])
    rows, scores = (np.concatenate(parts) for parts in list(zip(*found, strict=True))[:2])
    return (numbers, rows.astype(np.int32), scores), sum(left_out for *_, left_out in found)


class _Room:
    """Memory that one query after the other uses: new memory would cost as much time as the sums."""

    def __init__(self) -> None:
        self._rows, self._scores = np.empty(0, np.int64), np.empty(0)

    def of(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Room for rows, int64, and scores, float64, of shape (size,)."""
        if len(self._rows) < size:
            self._rows, self._scores = np.empty(size, np.int64), np.empty(size)
        return self._rows[:size], self._scores[:size]


def _search_one(sums: Sums | None, cut: Cut, query: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Documents and scores of the k best, in no order; and whether the excluded one is in a list."""
    if sums is None:
        return np.empty(0, np.int64), np.empty(0, np.float32), False
    rows, values, bound = sums
    own = _place_of(int(cut.excluded[query]), rows, values)
    if own is not None:
        values[own] = 0
    least = max(np.float32(bound), cut.least[query])
    if least <= 0 and len(values) > cut.k:
        # Faster than to take all that score first, which are most of them where a query has many lists.
        least = np.partition(values.astype(np.float32), len(values) - cut.k)[len(values) - cut.k]
    # What rounds to the float32 below the bound, or less, is not among the k best.
    near = np.flatnonzero(values > max(np.nextafter(least, np.float32(-np.inf)), 0))
    rows, scores = (near if rows is None else rows[near]), values[near].astype(np.float32)
    kept = _best(rows, scores, cut)
    return rows[kept], scores[kept], own is not None


def _place_of(row: int, rows: np.ndarray | None, sums: np.ndarray) -> int | None:
    """Where the sum of a document is; None if it is in no list, or row is -1."""
    place = row if rows is None else int(np.searchsorted(rows, row))
    is_there = row >= 0 and place < len(sums) and (rows is None or rows[place] == row)
    return place if is_there and sums[place] > 0 else None


def _sums_of(lists: Lists, wanted: WantedLists, room: _Room, query: int) -> Sums | None:
    """Scores of the lists of a query, added in their order."""
    own = wanted.of(query, lists)
    return Sums(*_add_up(lists, own, room), float(lists.bounds[own].max())) if len(own) else None


def _add_up(lists: Lists, own: np.ndarray, room: _Room) -> tuple[np.ndarray | None, np.ndarray]:
    """Sums of the scores of documents, in the order of the lists: ascending rows, None for all; and sums, 0 for no match."""
    spans = [slice(start, end) for start, end in lists.spans[own].tolist()]
    rows, scores = room.of(int(np.diff(lists.spans[own]).sum()))
    np.concatenate([lists.rows[span] for span in spans], out=rows)
    np.concatenate([lists.scores[span] for span in spans], out=scores)
    if len(spans) == 1:
        return rows.copy(), scores.copy()
    if len(rows) * SPARSE > lists.documents:
        return None, np.bincount(rows, scores, lists.documents)
    different, place = np.unique(rows, return_inverse=True)
    return different, np.bincount(place, scores, len(different))


def _best(rows: np.ndarray, values: np.ndarray, cut: Cut) -> np.ndarray:
    """Indices of the k best, ties included by the ids of the documents."""
    k = cut.k
    if len(rows) <= k:
        return np.arange(len(rows))
    last = np.partition(values, len(values) - k)[len(values) - k]
    above, tied = np.flatnonzero(values > last), np.flatnonzero(values == last)
    room = k - len(above)
    if len(tied) > room:
        order = cut.id_order[rows[tied]]
        tied = tied[np.argpartition(order, len(order) - room)[len(order) - room :]]
    return np.concatenate([above, tied])
