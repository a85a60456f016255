"""Exact search of lists, the best k documents of each query, for BM25 and learned weights.

A list has documents and their values; a query has some lists, each with a factor. Products are added in double in the order of
the query's lists and rounded to float32 once. So a score depends on the query, the document and their lists alone, not on what
else is searched at the same time, nor on the number of threads.

The rank of a hit is one number, which ascends from the best to the worst: above, the bits of the score, of which a higher
positive one has the higher; below, the document's place in the order of ties. So one sort ranks hits and cuts them at k.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from beirflow.ranking.ranking import Cut, Hits

SLICE_QUERIES = 32  # number of queries that a thread searches at a time
LINE = 8  # number of sums that share a cache line: to read one takes as long as to read all of them
SAMPLED = 32  # stride of the sample of lines that predicts the score which the best k reach
SURE = 4.0  # standard deviations by which the predicted score is lowered

HALF = np.uint64(32)  # bits of a rank that hold the score, and of those that hold the place
MIDDLE = 1 << 31  # is added to places, which may be negative


class Lists(NamedTuple):
    """Lists of documents with their values; no list has a document twice."""

    documents: int  # number of documents
    rows: np.ndarray  # documents, by their numbers, integers of shape (postings,)
    values: np.ndarray  # above 0, of any type that float64 holds exactly, of shape (postings,)


class WantedLists(NamedTuple):
    """The lists of each query, in the order in which they are added up."""

    spans: np.ndarray  # begin and end of each list, of shape (n, 2)
    factors: np.ndarray  # of the values of each list, above 0, float64 of shape (n,)
    starts: np.ndarray  # where the lists of each query begin, and n, int64 of shape (queries + 1,)


class Best(NamedTuple):
    """The best documents of a query, best first."""

    rows: np.ndarray  # documents, by their numbers, int32 of shape (n,)
    ranks: np.ndarray  # their ranks, uint64 of shape (n,)

    @property
    def scores(self) -> np.ndarray:
        """Return the scores, float32 of shape (n,)."""
        return (~self.ranks >> HALF).astype(np.uint32).view(np.float32)


NO_HIT = Best(np.empty(0, np.int32), np.empty(0, np.uint64))


def slices_of(queries: Sequence[int]) -> list[Sequence[int]]:
    """Divide queries into slices, each for a thread."""
    return [queries[start : start + SLICE_QUERIES] for start in range(0, len(queries), SLICE_QUERIES)]


def search_lists(
    lists: Lists, first: int, wanted: WantedLists, queries: Sequence[int], cut: Cut, best: Sequence[Best]
) -> tuple[list[Best], int]:
    """Find the best documents of some queries, and count those in one of their lists that were left out.

    ``first`` is the number of the first document of the lists in the order of the cut; ``best`` are for each query the best of
    the documents before it. Returns for each query the best of these and of those that are in one of its lists.
    """
    left_out, better = 0, []
    for query, before in zip(queries, best, strict=True):
        own = slice(wanted.starts[query], wanted.starts[query + 1])
        sums = _sums(lists, wanted.spans[own], wanted.factors[own])
        excluded = np.atleast_1d(cut.excluded[query]) - first
        excluded = excluded[(excluded >= 0) & (excluded < lists.documents)]
        if len(excluded):
            left_out += int(np.count_nonzero(sums[excluded]))
            sums[excluded] = 0
        better.append(_best_of(sums, first, cut, before))
    return better, left_out


def hits_of(queries: Sequence[int], best: Sequence[Best]) -> Hits:
    """Return the best documents of some queries, whose numbers ascend, as hits, sorted by query and rank."""
    numbers = np.repeat(np.array(queries, np.int32), [len(hits.rows) for hits in best])
    together = Best(*(np.concatenate(columns) for columns in zip(NO_HIT, *best, strict=True)))
    return numbers, together.rows, together.scores


def _sums(lists: Lists, spans: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return for each document the sum of its values times the factors of their lists, added up in the order of the lists.

    The postings of a query are copied: they take 16 bytes each, and its factors 8, until it is done.
    """
    if not len(spans):
        return np.zeros(lists.documents)
    slices = [slice(begin, end) for begin, end in spans.tolist()]
    rows = np.concatenate([lists.rows[each] for each in slices]).astype(np.intp, copy=False)
    products = np.concatenate([lists.values[each] for each in slices], dtype=np.float64)
    products *= np.repeat(factors, spans[:, 1] - spans[:, 0])
    return np.bincount(rows, products, lists.documents)


def _best_of(sums: np.ndarray, first: int, cut: Cut, before: Best) -> Best:
    """Return the best of the documents before and of those that have a sum."""
    known = len(before.rows) == cut.k  # a document needs the k-th score of those before
    rows = _reaching(sums, before.scores[-1] if known else _guess(sums, cut.k))
    if len(rows) < cut.k and not known:
        rows = _reaching(sums, np.float32(0))
    ranks = sums[rows].astype(np.float32).view(np.uint32).astype(np.uint64)
    ranks <<= HALF
    rows += first
    ranks |= (cut.id_order[rows] + MIDDLE).astype(np.uint64)
    if len(before.rows):
        rows, ranks = np.concatenate([before.rows, rows]), np.concatenate([~before.ranks, ranks])
    order = np.argsort(np.invert(ranks, out=ranks))[: cut.k]
    return Best(rows[order].astype(np.int32), ranks[order])


def _guess(sums: np.ndarray, k: int) -> np.float32:
    """Return a score that k documents most likely reach, and not many more; 0 if fewer may score at all."""
    block = LINE * SAMPLED
    sample = sums[: len(sums) // block * block].reshape(-1, block)[:, :LINE].ravel()
    positive = sample[sample > 0]  # numpy is slow at a partition where most are equal
    rank = int(k / SAMPLED + SURE * (k / SAMPLED) ** 0.5) + 1
    return np.float32(np.partition(positive, -rank)[-rank] if rank <= len(positive) else 0)


def _reaching(sums: np.ndarray, least: np.float32) -> np.ndarray:
    """Return the documents that score, rounded to float32, as high as the least; of the least 0, those that have a sum."""
    # What rounds to the least is above the float32 below it.
    return np.flatnonzero(sums > max(np.nextafter(least, np.float32(-np.inf)), 0))
