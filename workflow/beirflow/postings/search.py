"""Exact search of lists, the best k documents of each query, for BM25 and learned weights.

A list has documents and their values; a query has some lists, each with a factor. Products are added in double in the order of
the query's lists and rounded to float32 once. So a score depends on the query, the document and their lists alone, not on what
else is searched at the same time, nor on the number of threads.
"""

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from beirflow.runs.ranking import Cut, Hits

SLICE_QUERIES = 32  # number of queries that a thread searches at a time
LINE = 8  # number of sums that share a cache line: to read one takes as long as to read all of them
SAMPLED = 32  # stride of the sample of lines that predicts the score which the best k reach
SURE = 4.0  # standard deviations by which the predicted score is lowered


class Lists(NamedTuple):
    """Lists of documents with their values, which lie in memory from the last list to the first."""

    documents: int  # number of documents
    rows: np.ndarray  # documents, by their numbers, int32 of shape (postings,)
    values: np.ndarray  # above 0, float64 of shape (postings,)


class WantedLists(NamedTuple):
    """The lists of each query, in the order in which they are added up."""

    spans: np.ndarray  # begin and end of each list, of shape (n, 2); a list of a query lies behind those that follow it
    factors: np.ndarray  # of the values of each list, above 0, float64 of shape (n,)
    starts: np.ndarray  # where the lists of each query begin, and n, int64 of shape (queries + 1,)


class Best(NamedTuple):
    """The best documents of a query, in no order."""

    rows: np.ndarray  # documents, by their numbers, int64 of shape (n,)
    scores: np.ndarray  # float32 of shape (n,)


NO_DOCUMENT = Best(np.empty(0, np.int64), np.empty(0, np.float32))


def import_scipy() -> ModuleType:
    """Import ``scipy.sparse``, which adds lists up. That takes half as long as reading postings: a job does both at once."""
    import scipy.sparse

    return scipy.sparse


def slices_of(queries: Sequence[int]) -> list[Sequence[int]]:
    """Divide queries into slices, each for a thread."""
    return [queries[start : start + SLICE_QUERIES] for start in range(0, len(queries), SLICE_QUERIES)]


def search_lists(
    lists: Lists, wanted: WantedLists, queries: Sequence[int], cut: Cut, least: np.ndarray
) -> tuple[list[Best], int]:
    """Return the best documents of some queries among those that are in one of their lists, and count those that were left out.

    ``least`` is for each query a score that k other documents reach, or minus infinity, float32 of shape (queries,).
    """
    sums = zip(queries, _sums(lists, wanted, queries), strict=True)
    ranked_queries = [_best_of(values, cut, query, least[query]) for query, values in sums]
    return [best for best, _ in ranked_queries], sum(left_out for _, left_out in ranked_queries)


def better_of(first: Best, second: Best, cut: Cut) -> Best:
    """Return the best of two parts of the documents."""
    rows, scores = (np.concatenate(columns) for columns in zip(first, second, strict=True))
    return _best(rows, scores, cut)


def ranked(queries: Sequence[int], best: Sequence[Best], cut: Cut) -> Hits:
    """Rank the best documents of some queries, whose numbers ascend.

    Returns number of the query and number of the document, int32, and score, float32, of each hit, sorted by query and rank.
    """
    numbers = np.repeat(np.array(queries, np.int32), [len(hits.rows) for hits in best])
    rows, scores = (np.concatenate(columns) for columns in zip(NO_DOCUMENT, *best, strict=True))
    return cut.first_of([(numbers, rows.astype(np.int32), scores)])


def _sums(lists: Lists, wanted: WantedLists, queries: Sequence[int]) -> Iterator[np.ndarray]:
    """Yield the sums of the scores of the documents for each query, 0 for no match, float64 of shape (documents,).

    The lists of a query are the columns of a matrix, its factors a vector: scipy adds their product in compiled code, in the
    order of the columns, while other threads compute. So that no list is copied, the matrix holds all of them, and between two
    columns of the query is one that reaches from the end of the first to the beginning of the second. Since the lists lie
    in memory from the last to the first, that column ends before it begins: it is empty. So are all behind the query's last list.
    """
    scipy_sparse = import_scipy()
    columns = 2 * int(np.diff(wanted.starts)[queries].max(initial=1)) - 1
    matrix = scipy_sparse.csc_array((lists.documents, columns), dtype=np.float64)
    matrix.data, matrix.indices = lists.values, lists.rows
    matrix.indptr = bounds = np.zeros(columns + 1, scipy_sparse.get_index_dtype(maxval=len(lists.rows)))
    factors = np.zeros(columns)
    for query in queries:
        own = slice(wanted.starts[query], wanted.starts[query + 1])
        spans = wanted.spans[own].ravel()
        bounds[: len(spans)], bounds[len(spans) :] = spans, 0
        factors[: len(spans) : 2] = wanted.factors[own]
        yield matrix @ factors


def _best_of(values: np.ndarray, cut: Cut, query: int, least: np.float32) -> tuple[Best, int]:
    """Return the best of a query, and how many excluded documents are in a list; values change."""
    own = np.atleast_1d(cut.excluded[query])
    own = own[own >= 0]
    left_out = int(np.count_nonzero(values[own]))
    values[own] = 0
    known = least > 0
    least = least if known else _guess(values, cut.k)
    # What rounds to the least, as float32, is above the float32 below it.
    rows = np.flatnonzero(values > max(np.nextafter(least, np.float32(-np.inf)), 0))
    if len(rows) < cut.k and not known:
        rows = np.flatnonzero(values)
    return _best(rows, values[rows].astype(np.float32), cut), left_out


def _guess(values: np.ndarray, k: int) -> np.float32:
    """Return a score that k documents most likely reach, and not many more; 0 if fewer may score at all."""
    block = LINE * SAMPLED
    sample = values[: len(values) // block * block].reshape(-1, block)[:, :LINE].ravel()
    positive = sample[sample > 0]  # numpy is slow at a partition where most are equal
    rank = int(k / SAMPLED + SURE * (k / SAMPLED) ** 0.5) + 1
    return np.float32(np.partition(positive, -rank)[-rank] if rank <= len(positive) else 0)


def _best(rows: np.ndarray, scores: np.ndarray, cut: Cut) -> Best:
    """Return the k best, ties included by the ids of the documents."""
    k = cut.k
    if len(rows) <= k:
        return Best(rows, scores)
    last = np.partition(scores, len(scores) - k)[len(scores) - k]
    above, tied = np.flatnonzero(scores > last), np.flatnonzero(scores == last)
    room = k - len(above)
    if len(tied) > room:
        order = cut.id_order[rows[tied]]
        tied = tied[np.argpartition(order, len(order) - room)[len(order) - room :]]
    kept = np.concatenate([above, tied])
    return Best(rows[kept], scores[kept])
