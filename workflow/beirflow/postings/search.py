"""Exact search of lists, the best k documents of each query, for BM25 and learned weights.

A list has documents and their values; a query has some lists, each with a factor. Products are added in double in the order of
the query's lists and rounded to float32 once. So a score depends on the query, the document and their lists alone, not on what
else is searched at the same time, nor on the number of threads.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, get_index_dtype

from beirflow.runs.ranking import Hits

SLICE_QUERIES = 32
"""Queries that a thread searches at a time."""

LINE = 8
"""Sums that lie together in memory: to read one takes as long as to read all of them."""

SAMPLED = 32
"""One line of so many tells which score the best k reach."""

SURE = 4.0
"""Standard deviations that the guess of that score stays below it."""


class Lists(NamedTuple):
    """Lists of documents with their values, which lie in memory from the last list to the first.

    Attributes:
        documents: Number of documents.
        rows: The documents, by their numbers, int32 of shape (postings,).
        values: Above 0, float64 of shape (postings,).
    """

    documents: int
    rows: np.ndarray
    values: np.ndarray


class WantedLists(NamedTuple):
    """The lists of each query, in the order in which they are added up.

    Attributes:
        spans: Where each list begins and ends, integers of shape (n, 2). A list of a query lies behind those that come after it.
        factors: What its values are multiplied by, above 0, float64 of shape (n,).
        starts: Where the lists of each query begin, and n, int64 of shape (queries + 1,).
    """

    spans: np.ndarray
    factors: np.ndarray
    starts: np.ndarray


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


def slices_of(queries: Sequence[int]) -> list[Sequence[int]]:
    """Queries that a thread searches at a time."""
    return [queries[start : start + SLICE_QUERIES] for start in range(0, len(queries), SLICE_QUERIES)]


def search_lists(lists: Lists, wanted: WantedLists, queries: Sequence[int], cut: Cut) -> tuple[Hits, int]:
    """The k best documents of some queries by the ranking rule, among those that are in one of their lists.

    Args:
        lists: The lists.
        wanted: Which of them each query has.
        queries: Numbers of the queries to search.
        cut: What is kept.

    Returns:
        Number of the query and number of the document, int32, and score, float32, of the hits, sorted by query and in no order of
        ranks; and how many documents are in a list of these queries, but were left out.
    """
    found = [_best_of(values, cut, query) for query, values in zip(queries, _sums(lists, wanted, queries), strict=True)]
    numbers = np.repeat(np.array(queries, np.int32), [len(rows) for rows, *_ in found])
    rows, scores = (np.concatenate(parts) for parts in list(zip(*found, strict=True))[:2])
    return (numbers, rows.astype(np.int32), scores), sum(left_out for *_, left_out in found)


def _sums(lists: Lists, wanted: WantedLists, queries: Sequence[int]) -> Iterator[np.ndarray | None]:
    """What documents score for each query, 0 for no match, float64 of shape (documents,); None where it has no list.

    The lists of a query are the columns of a matrix, its factors a vector: scipy adds their product in compiled code, in the
    order of the columns, while other threads compute. So that no list is copied, the matrix holds all of them, and between two
    columns of the query stands one that reaches from the end of the first to the beginning of the second. Since the lists lie
    in memory from the last to the first, that column ends before it begins: it is empty.
    """
    columns = 2 * int(np.diff(wanted.starts)[queries].max(initial=1)) - 1
    matrix = csc_array((lists.documents, columns), dtype=np.float64)
    matrix.data, matrix.indices = lists.values, lists.rows
    index_type = get_index_dtype(maxval=len(lists.rows))
    for query in queries:
        own = slice(wanted.starts[query], wanted.starts[query + 1])
        bounds, factors = np.zeros(columns + 1, index_type), np.zeros(columns)
        bounds[: wanted.spans[own].size] = wanted.spans[own].ravel()
        factors[: wanted.spans[own].size : 2] = wanted.factors[own]
        matrix.indptr = bounds
        yield matrix @ factors if np.diff(wanted.spans[own]).any() else None


def _best_of(values: np.ndarray | None, cut: Cut, query: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Documents and scores of the k best of a query, in no order; and whether the excluded one is in a list. Values change."""
    if values is None:
        return np.empty(0, np.int64), np.empty(0, np.float32), False
    own = cut.excluded[query]
    left_out = own >= 0 and values[own] > 0
    if left_out:
        values[own] = 0
    known = cut.least[query] > 0
    rows = _reaching(values, cut.least[query] if known else _guess(values, cut.k))
    if len(rows) < cut.k and not known:
        rows = np.flatnonzero(values)
    scores = values[rows].astype(np.float32)
    kept = _best(rows, scores, cut)
    return rows[kept], scores[kept], bool(left_out)


def _guess(values: np.ndarray, k: int) -> np.float32:
    """A score that k documents most likely reach, and not many more; 0 if fewer may score at all."""
    block = LINE * SAMPLED
    sample = values[: len(values) // block * block].reshape(-1, block)[:, :LINE].ravel()
    rank = int(k / SAMPLED + SURE * (k / SAMPLED) ** 0.5) + 1
    return np.float32(np.partition(sample, -rank)[-rank] if rank <= len(sample) else 0)


def _reaching(values: np.ndarray, least: np.float32) -> np.ndarray:
    """The documents that score, rounded to float32, as high as the least."""
    # What rounds to the least is above the float32 below it.
    return np.flatnonzero(values > max(np.nextafter(least, np.float32(-np.inf)), 0))


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
