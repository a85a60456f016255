"""The best documents of each query: so far, by fast scores, while a corpus is read in blocks; and at last, by exact ones."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from beirflow.ranking.ranking import Cut, Hits
from beirflow.run.threads import Threads

AT_ONCE = 64  # queries whose candidates a CPU looks for at a time: a cache holds their scores
MERGED_QUERIES = 64  # queries whose hits are sorted at once: a cache holds them


class Candidates(NamedTuple):
    """Pairs of a query and a document whose exact score may be among the k best of the query."""

    query: torch.Tensor  # number of the query, ascending, int64 of shape (n,)
    row: torch.Tensor  # row of the document, int32 of shape (n,)
    least: torch.Tensor  # fast score from which a document is a candidate of each query, float32 of shape (queries,)
    crowded: torch.Tensor  # queries with more candidates than there is room for, which have no pairs; int64
    few: torch.Tensor  # those of them whose first guess was too high, with fewer documents above it than there is room for; int64


class Shortlist:
    """About the best ``keep`` documents of each query, and never fewer where there are as many.

    Once ``keep`` documents of a query are known, only scores above the least of them are looked at again, which few are: a
    comparison takes the place of most of the sorting. Everything stays on the device.

    Args:
        queries: Number of queries.
        keep: Documents to keep for each query, at least.
        device: Where to compute.
        least: For each query the score that a document must exceed, float32 of shape (queries, 1); more are kept than ``keep`` if
            it is low, and fewer if it is too high. None where nothing is known yet.

    Attributes:
        scores: float32 of shape (queries, width), minus infinity where there is none.
        rows: Row of the document, int32 of shape (queries, width).
    """

    def __init__(self, queries: int, keep: int, device: torch.device, least: torch.Tensor | None = None) -> None:
        self.keep = keep
        # Twice the room, so that a cut, which takes long, is needed only after so many further hits.
        self.scores = torch.full((queries, 2 * keep), -torch.inf, device=device)
        self.rows = torch.zeros((queries, 2 * keep), dtype=torch.int32, device=device)
        self._filled = torch.zeros(queries, dtype=torch.long, device=device)
        self._least = torch.full((queries, 1), -torch.inf, device=device) if least is None else least
        self._knows_nothing = least is None
        self._at_once = AT_ONCE if device.type == "cpu" else queries

    def offer(self, queries: slice, scores: torch.Tensor, first_row: int) -> None:
        """Take the scores of n neighbouring queries with the next block of documents.

        They are float32 of shape (n, documents of the block), whose first document has the row ``first_row``; minus infinity is
        never kept.
        """
        # While little is known, much of a block may belong to the best: a part of it tells more about the rest.
        documents, part = scores.shape[1], max(first_row, self.scores.shape[1])
        if documents > part and self._knows_nothing:
            self._offer_in_parts(queries, scores, first_row, part)
            return
        hits = _above(scores, self._least[queries])
        starts = torch.arange(0, scores.numel() + 1, documents, device=hits.device)
        ends = torch.searchsorted(hits, starts)
        counts = ends.diff()
        if not self._has_room(queries, counts):
            self._cut(queries)
        # The hits were those above the scores before the cut; halves are compared with the higher ones after it.
        if not self._has_room(queries, counts):
            self._offer_in_parts(queries, scores, first_row, documents // 2)
            return
        # What is added to a hit's number among all hits to give its place, and to its place in the block to give its row.
        width = self.scores.shape[1]
        to_place = self._filled[queries] + torch.arange(len(counts), device=hits.device) * width - ends[:-1]
        query = torch.repeat_interleave(counts, output_size=len(hits))
        place = torch.arange(len(hits), device=hits.device) + to_place.index_select(0, query)
        self.scores[queries].view(-1).index_copy_(0, place, scores.reshape(-1).index_select(0, hits))
        rows = hits - (starts - first_row).index_select(0, query)
        self.rows[queries].view(-1).index_copy_(0, place, rows.int())
        self._filled[queries] += counts

    def kth(self, k: int, queries: slice) -> torch.Tensor:
        """Return the k-th best score of some queries, float32 of shape (n,); minus infinity where fewer documents were found."""
        return kth_largest(self.scores[queries], min(k, self.scores.shape[1]))[:, 0]

    def candidates(self, least: torch.Tensor) -> Candidates:
        """Return the documents that score at least so much, without those of queries where some such document was not kept.

        The score of each query, float32 of shape (queries,), is at most that of its ``keep``-th document.
        """
        dropped = self._least[:, 0]  # this score and those below
        crowded = (dropped >= least) & (dropped > -torch.inf)
        from_here = least.clamp_min(torch.finfo(torch.float32).min).masked_fill(crowded, torch.nan)  # which nothing reaches
        counts, rows, too_few = [], [], []
        for first in range(0, len(least), self._at_once):
            some = slice(first, first + self._at_once)
            is_found = self.scores[some] >= from_here[some, None]
            counts.append(is_found.sum(dim=1))
            rows.append(self.rows[some].view(-1).index_select(0, places_of(is_found)))
            too_few.append((self.scores[some] > -torch.inf).sum(dim=1) < self.keep)
        query = torch.arange(len(least), device=least.device).repeat_interleave(torch.cat(counts))
        few = crowded & torch.cat(too_few)
        return Candidates(query, torch.cat(rows), least, crowded.nonzero().flatten(), few.nonzero().flatten())

    def _offer_in_parts(self, queries: slice, scores: torch.Tensor, first_row: int, part: int) -> None:
        self.offer(queries, scores[:, :part], first_row)
        self.offer(queries, scores[:, part:], first_row + part)

    def _has_room(self, queries: slice, counts: torch.Tensor) -> bool:
        return not bool((self._filled[queries] + counts > self.scores.shape[1]).any())

    def _cut(self, queries: slice) -> None:
        """Keep the best of what has been collected, in any order."""
        place = _largest(self.scores[queries], self.keep)
        best, rows = self.scores[queries].gather(1, place), self.rows[queries].gather(1, place)
        self.scores[queries, : self.keep], self.rows[queries, : self.keep] = best, rows
        self.scores[queries, self.keep :] = -torch.inf
        self._filled[queries] = self.keep
        self._least[queries] = torch.maximum(self._least[queries], best.amin(dim=1, keepdim=True))


# On a CPU numpy does these several times faster than torch.
def _above(scores: torch.Tensor, least: torch.Tensor) -> torch.Tensor:
    """Return the places of the scores above the least of their row, as if all rows were one, int64."""
    if scores.is_cuda:
        return places_of(scores > least)
    return places_of(torch.from_numpy(scores.numpy() > least.numpy()))


def places_of(is_so: torch.Tensor) -> torch.Tensor:
    """Return the places of what is true, as if all dimensions were one, int64."""
    return is_so.reshape(-1).nonzero().flatten() if is_so.is_cuda else torch.from_numpy(np.flatnonzero(is_so.numpy()))


def _largest(scores: torch.Tensor, keep: int) -> torch.Tensor:
    """Return the places of the largest scores of each row, in any order, int64 of shape (rows, keep)."""
    if scores.is_cuda:
        return scores.topk(keep, dim=1, sorted=False).indices
    spare = scores.shape[1] - keep
    return torch.from_numpy(np.argpartition(scores.numpy(), spare, axis=1)[:, spare:])


def kth_largest(scores: torch.Tensor, k: int) -> torch.Tensor:
    """Return the k-th largest score of each row, of shape (rows, 1)."""
    if scores.is_cuda:
        return scores.topk(k, dim=1).values[:, -1:]
    place = scores.shape[1] - k
    return torch.from_numpy(np.partition(scores.numpy(), place, axis=1)[:, place : place + 1])


def merge_sorted(lists: Sequence[Hits], cut: Cut, queries: int, threads: Threads) -> Hits:
    """Return the best hits of lists that are sorted by query, of so many queries, as ``cut`` does; threads share the queries."""
    best: dict[int, Hits] = {}

    def merge(some: slice) -> None:
        parts = []
        for hits in lists:
            first, last = np.searchsorted(hits[0], [some.start, some.stop])
            parts.append((hits[0][first:last], hits[1][first:last], hits[2][first:last]))
        best[some.start] = cut.first_of(parts)

    threads.share(merge, queries, MERGED_QUERIES, on_host=True)
    query, row, score = (np.concatenate(columns) for columns in zip(*(best[first] for first in sorted(best)), strict=True))
    return query, row, score
