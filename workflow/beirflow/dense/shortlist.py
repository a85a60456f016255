"""The best documents of each query so far, by fast scores, while a corpus is read in blocks."""

import numpy as np
import torch


class Shortlist:
    """About the best ``keep`` documents of each query, and never fewer where there are as many.

    Once ``keep`` documents of a query are known, only scores above the least of them are looked at again, which few are: a
    comparison takes the place of most of the sorting. Everything stays on the device.

    Args:
        queries: Number of queries.
        keep: Documents to keep for each query, at least.
        device: Where to compute.

    Attributes:
        scores: float32 of shape (queries, width), minus infinity where there is none.
        rows: Row of the document, int64 of shape (queries, width).
    """

    def __init__(self, queries: int, keep: int, device: torch.device) -> None:
        self.keep = keep
        self.scores = torch.full((queries, 2 * keep), -torch.inf, device=device)
        self.rows = torch.zeros((queries, 2 * keep), dtype=torch.long, device=device)
        self._filled = torch.zeros(queries, dtype=torch.long, device=device)
        self._least = torch.full((queries,), -torch.inf, device=device)

    def offer(self, queries: torch.Tensor, scores: torch.Tensor, first_row: int) -> None:
        """Take the scores of some queries with the next block of documents.

        Args:
            queries: Numbers of the queries, int64 of shape (n,).
            scores: float32 of shape (n, documents of the block); minus infinity is never kept.
            first_row: Row of the block's first document.
        """
        # While little is known, much of a block may belong to the best: a part of it tells more about the rest.
        part = max(first_row, self.scores.shape[1])
        if scores.shape[1] > part:
            self._offer_in_parts(queries, scores, first_row, part)
            return
        hits = _nonzero((scores > self._least[queries, None]).reshape(-1))
        query = torch.div(hits, scores.shape[1], rounding_mode="floor")
        counts = torch.bincount(query, minlength=len(scores))
        if not self._has_room(queries, counts):
            self._cut(queries)
        if not self._has_room(queries, counts):
            self._offer_in_parts(queries, scores, first_row, scores.shape[1] // 2)
            return
        place = torch.arange(len(query), device=query.device) + (self._filled[queries] - counts.cumsum(0) + counts)[query]
        self.scores[queries[query], place] = scores.reshape(-1).index_select(0, hits)
        self.rows[queries[query], place] = hits - query * scores.shape[1] + first_row
        self._filled[queries] += counts

    def best(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores and rows of the best ``keep`` documents of each query, best first, each of shape (queries, keep)."""
        scores, place = self.scores.topk(self.keep, dim=1)
        return scores, self.rows.gather(1, place)

    def _offer_in_parts(self, queries: torch.Tensor, scores: torch.Tensor, first_row: int, part: int) -> None:
        self.offer(queries, scores[:, :part], first_row)
        self.offer(queries, scores[:, part:], first_row + part)

    def _has_room(self, queries: torch.Tensor, counts: torch.Tensor) -> bool:
        return int((self._filled[queries] + counts).max()) <= self.scores.shape[1]

    def _cut(self, queries: torch.Tensor) -> None:
        """Keep the best of what has been collected, in any order."""
        scores = self.scores[queries]
        place = _largest(scores, self.keep)
        best = scores.gather(1, place)
        self.scores[queries, : self.keep] = best
        self.scores[queries, self.keep :] = -torch.inf
        self.rows[queries, : self.keep] = self.rows[queries].gather(1, place)
        self._filled[queries] = self.keep
        self._least[queries] = best.amin(dim=1)


# On a CPU numpy does these two several times faster than torch.
def _nonzero(mask: torch.Tensor) -> torch.Tensor:
    """Places that are true, int64."""
    return mask.nonzero().flatten() if mask.is_cuda else torch.from_numpy(np.flatnonzero(mask.numpy()))


def _largest(scores: torch.Tensor, keep: int) -> torch.Tensor:
    """Places of the largest scores of each row, in any order, int64 of shape (rows, keep)."""
    if scores.is_cuda:
        return scores.topk(keep, dim=1, sorted=False).indices
    spare = scores.shape[1] - keep
    return torch.from_numpy(np.argpartition(scores.numpy(), spare, axis=1)[:, spare:])
