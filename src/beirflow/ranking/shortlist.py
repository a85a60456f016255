"""The best documents of each query while a corpus is read in blocks, by exact scores of those that may be among them."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from beirflow.ranking.ranking import Cut, Hits, no_hits
from beirflow.run.threads import Threads

MERGED_QUERIES = 64  # queries whose hits are sorted at once: a cache holds them

ROOM = 2  # times the documents that are kept, the hits of a query from which on they are cut to these

SLICES = 64  # slices of documents, evenly spread, that make a sample

MARGIN = 4.0
"""Margin of a guess, in standard deviations of the number of the best documents in a sample: it is rarely too high."""


class Shortlist:
    """The best hits of each query so far.

    Args:
        least: For each query the score below which no document counts, float32 of shape (queries,); it rises to that of the k-th
            best document once so many were found.
        cut: Which documents are kept.
        threads: Threads that share the queries.
    """

    def __init__(self, least: np.ndarray, cut: Cut, threads: Threads) -> None:
        self.least = least
        self._cut, self._threads = cut, threads
        self._lists = [no_hits()]

    def add(self, hits: Hits, queries: int) -> None:
        """Take hits of so many queries, sorted by query, from any thread; few stay where all documents of a block tie."""
        is_crowded = len(hits[0]) > ROOM * self._cut.k * queries
        self._lists.append(self._cut.first_of([hits]) if is_crowded else hits)

    def settle(self) -> None:
        """Drop hits that are not among the best, if there are many; called between blocks of documents."""
        if sum(len(query) for query, *_ in self._lists) > ROOM * self._cut.k * len(self.least):
            self.least = np.maximum(self.least, self.kth(self.best()))

    def best(self) -> Hits:
        """Return the best hits, sorted by query and rank."""
        self._lists = [merge_sorted(self._lists, self._cut, len(self.least), self._threads)]
        return self._lists[0]

    def kth(self, best: Hits) -> np.ndarray:
        """Return the score of the k-th best hit of each query, float32 of shape (queries,); minus infinity where fewer are."""
        starts = np.searchsorted(best[0], np.arange(len(self.least) + 1))
        kth = np.full(len(self.least), -np.inf, np.float32)
        is_full = np.diff(starts) == self._cut.k
        kth[is_full] = best[2][starts[1:][is_full] - 1]
        return kth


def search_with_guess(search: Callable[[np.ndarray, Shortlist], None], guess: np.ndarray, cut: Cut, threads: Threads) -> Hits:
    """Search from a guess of the score of each query's k-th best document, and again from a lower one where it was too high.

    ``search`` gets numbers of queries, and adds to their shortlist the exact scores of all documents that may reach its least
    ones, by their places among these numbers. ``guess`` is float32 of shape (queries,), minus infinity for none.
    """
    found, which, least = [no_hits()], np.arange(len(guess)), guess
    while len(which):
        shortlist = Shortlist(least, cut, threads)
        search(which, shortlist)
        query, row, score = shortlist.best()
        kth = shortlist.kth((query, row, score))
        # All documents from the guess on were found. Else the k-th of those that were found is no higher than that of all.
        is_known = kth >= least
        kept = is_known[query]
        found.append((which[query[kept]].astype(np.int32), row[kept], score[kept]))
        which, least = which[~is_known], kth[~is_known]
    query, row, score = _joined(found)
    order = np.argsort(query, kind="stable")
    return query[order], row[order], score[order]


def merge_sorted(lists: Sequence[Hits], cut: Cut, queries: int, threads: Threads) -> Hits:
    """Return the best hits of lists that are sorted by query, of so many queries, as ``cut`` does; threads share the queries."""
    best: dict[int, Hits] = {}

    def merge(some: slice) -> None:
        """Merge the lists of some queries."""
        parts = []
        for query, row, score in lists:
            here = slice(*np.searchsorted(query, [some.start, some.stop]))
            parts.append((query[here], row[here], score[here]))
        best[some.start] = cut.first_of(parts)

    threads.share(merge, queries, MERGED_QUERIES, on_host=True)
    return _joined([best[first] for first in sorted(best)])


def _joined(lists: Sequence[Hits]) -> Hits:
    query, row, score = (np.concatenate(columns) for columns in zip(*lists, strict=True))
    return query, row, score


def rank_in_sample(k: int, size: int, documents: int) -> int:
    """Return the rank in a sample of the score that very likely at least k documents have; more than its size if there is none.

    The sample has ``size`` of all documents; of all of them, the rank is k.
    """
    share = size / documents
    return int(np.ceil(k * share + MARGIN * (1 - share) * (1 + (k * share) ** 0.5)))


def largest(scores: torch.Tensor, keep: int) -> torch.Tensor:
    """Return the places of the largest scores of each row, in any order, int64 of shape (rows, keep)."""
    if scores.is_cuda:
        return scores.topk(keep, dim=1, sorted=False).indices
    spare = scores.shape[1] - keep
    return torch.from_numpy(np.argpartition(scores.numpy(), spare, axis=1)[:, spare:])


def kth_largest(scores: torch.Tensor, k: int) -> torch.Tensor:
    """Return the k-th largest score of each row, of shape (rows,); on a CPU numpy is several times faster than torch."""
    if scores.is_cuda:
        return scores.topk(k, dim=1).values[:, -1]
    place = scores.shape[1] - k
    return torch.from_numpy(np.partition(scores.numpy(), place, axis=1)[:, place])


def places_of(is_so: torch.Tensor) -> torch.Tensor:
    """Return the places of what is true, as if all dimensions were one, int64; on a CPU numpy is faster than torch."""
    return is_so.reshape(-1).nonzero().flatten() if is_so.is_cuda else torch.from_numpy(np.flatnonzero(is_so.numpy()))


def places_from(scores: torch.Tensor, least: torch.Tensor) -> torch.Tensor:
    """Return the places, as :func:`places_of` does, of the scores that reach the least of their row, of shape (rows, 1)."""
    return places_of(scores >= least if scores.is_cuda else torch.from_numpy(scores.numpy() >= least.numpy()))
