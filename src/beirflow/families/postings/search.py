"""Exact top k of posting lists: for BM25, whose lists hold normalised frequencies, and for learned weights of terms.

A posting list holds the documents that have a term, each with a value. A query has a list and a factor for each of its terms.
Scores are added in float64 in the order of the query's lists, and the sum is rounded to float32 once. So a score depends on the
query, the document and their terms alone, not on other queries and documents. A search is one thread: Python selects the lists
and ranks the hits, so a second thread would wait for the interpreter. Several jobs search several chunks at a time.

A hit's rank is one uint64, ascending from the best. Its inverse holds above the bits of the score, which ascend with a positive
float32, and below the document's position in the order of ties. So one sort ranks hits and cuts them at k.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from beirflow.ranking.ranking import Cut, Hits, no_hits

CACHE_LINE = 8  # sums that share a cache line: reading one takes as long as reading all of them
SAMPLED = 32  # stride of the sample of cache lines that predicts the k-th best score
DEVIATIONS = 4.0  # standard deviations by which the predicted score is lowered

HALF = np.uint64(32)  # bits of each half of a rank
MIDDLE = 1 << 31  # added to positions in the order of ties, which may be negative

Score = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Returns the scores of n postings, float64 and above 0, from the values and the factors of their lists, all of shape (n,).

Both are copies, in whose memory it may compute, since fresh memory takes longer than the arithmetic.
"""


class Lists(NamedTuple):
    """Posting lists of consecutive documents, in any order; no list has a document twice."""

    documents: int  # number of documents
    rows: np.ndarray  # document of each posting, counted from the first of these, integers of shape (postings,)
    values: np.ndarray  # of each posting, of shape (postings,)


class QueryLists(NamedTuple):
    """The lists of each query, in the order in which their scores are added."""

    spans: np.ndarray  # first posting of each list and the one after its last, int64 of shape (n, 2)
    factors: np.ndarray  # factor of each list, of shape (n,)
    starts: np.ndarray  # first list of each query, and n, int64 of shape (queries + 1,)


class Best(NamedTuple):
    """The best n documents of a query, best first."""

    rows: np.ndarray  # documents of all segments, int32 of shape (n,)
    ranks: np.ndarray  # uint64 of shape (n,)

    @property
    def scores(self) -> np.ndarray:
        """Scores, float32 of shape (n,)."""
        return (~self.ranks >> HALF).astype(np.uint32).view(np.float32)


NO_HIT = Best(np.empty(0, np.int32), np.empty(0, np.uint64))


def search_lists(segments: Iterable[tuple[Lists, QueryLists]], queries: int, cut: Cut, score: Score) -> tuple[Hits, Hits]:
    """Find the best documents of each query among those in one of its lists.

    Args:
        segments: Consecutive documents, and the lists of all queries among theirs.
        queries: Number of queries.
        cut: Rule by which the first k documents of a query are kept.
        score: Scores postings.

    Returns:
        Number of the query and row of the document, int32, and score, float32, of every hit, sorted by query, score and the order
        of ties; and the same of excluded documents that are in a list of their query, in any order.
    """
    best, left_out, first = [NO_HIT] * queries, [no_hits()], 0
    for lists, of_queries in segments:
        places = (cut.id_order[first : first + lists.documents] + MIDDLE).astype(np.uint64)
        for query in range(queries):
            sums = _sums(lists, of_queries, query, score)
            excluded = np.atleast_1d(cut.excluded[query]) - first
            excluded = excluded[(excluded >= 0) & (excluded < lists.documents)]
            if len(excluded):
                rows = excluded[sums[excluded] > 0].astype(np.int32)
                left_out.append((np.full_like(rows, query), rows + np.int32(first), sums[rows].astype(np.float32)))
                sums[excluded] = 0
            best[query] = _best_of(sums, places, first, cut.k, best[query])
        first += lists.documents
    numbers, rows, scores = (np.concatenate(columns) for columns in zip(*left_out, strict=True))
    return _hits_of(best), (numbers, rows, scores)


def _hits_of(best: Sequence[Best]) -> Hits:
    numbers = np.repeat(np.arange(len(best), dtype=np.int32), [len(hits.rows) for hits in best])
    together = Best(*(np.concatenate(columns) for columns in zip(NO_HIT, *best, strict=True)))
    return numbers, together.rows, together.scores


def _sums(lists: Lists, of_queries: QueryLists, query: int, score: Score) -> np.ndarray:
    """Return the sum of the scores of each document, float64 of shape (documents,), added in the order of the query's lists."""
    own = slice(of_queries.starts[query], of_queries.starts[query + 1])
    if own.start == own.stop:
        return np.zeros(lists.documents)
    spans = of_queries.spans[own]
    slices = [slice(begin, end) for begin, end in spans.tolist()]
    rows = np.concatenate([lists.rows[each] for each in slices], dtype=np.intp)
    values = np.concatenate([lists.values[each] for each in slices])
    scores = score(values, np.repeat(of_queries.factors[own], spans[:, 1] - spans[:, 0]))
    return np.bincount(rows, scores, lists.documents)


def _best_of(sums: np.ndarray, places: np.ndarray, first: int, k: int, before: Best) -> Best:
    """Return the best k of the documents of earlier segments, ``before``, and of those that have a sum.

    ``places`` are those of the documents of this segment in the order of ties, and ``first`` is the first of them.
    """
    full = len(before.rows) == k  # a document needs the k-th score of those before
    rows = _reaching(sums, before.scores[-1] if full else _predict_least(sums, k))
    if len(rows) < k and not full:
        rows = _reaching(sums, np.float32(0))
    ranks = sums[rows].astype(np.float32).view(np.uint32).astype(np.uint64)
    ranks <<= HALF
    ranks |= places[rows]
    np.invert(ranks, out=ranks)
    rows += first
    if len(before.rows):
        rows, ranks = np.concatenate([before.rows, rows]), np.concatenate([before.ranks, ranks])
    order = np.argsort(ranks)[:k]
    return Best(rows[order].astype(np.int32), ranks[order])


def _predict_least(sums: np.ndarray, k: int) -> np.float32:
    """Predict from a sample a score that k documents most likely reach, and not many more; 0 if fewer may score at all."""
    block = CACHE_LINE * SAMPLED
    sample = sums[: len(sums) // block * block].reshape(-1, block)[:, :CACHE_LINE].ravel()
    positive = sample[sample > 0]  # numpy is slow at a partition where most are equal
    rank = int(k / SAMPLED + DEVIATIONS * (k / SAMPLED) ** 0.5) + 1
    return np.float32(np.partition(positive, -rank)[-rank] if rank <= len(positive) else 0)


def _reaching(sums: np.ndarray, least: np.float32) -> np.ndarray:
    """Return the documents whose score, rounded to float32, is at least ``least``; for 0, those that have a score."""
    # A sum that rounds to ``least`` is above the float32 below it.
    return np.flatnonzero(sums > max(np.nextafter(least, np.float32(-np.inf)), 0))
