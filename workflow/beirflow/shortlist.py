"""The best documents of each query so far, by fast scores, while a corpus goes by in blocks."""

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
        query, column = (scores > self._least[queries, None]).nonzero(as_tuple=True)
        counts = torch.bincount(query, minlength=len(scores))
        if int((self._filled[queries] + counts).max()) > self.scores.shape[1]:
            self._cut(queries)
            if int((self._filled[queries] + counts).max()) > self.scores.shape[1]:
                self._sort_in(queries, scores, first_row)
                return
        place = torch.arange(len(query), device=query.device) + (self._filled[queries] - counts.cumsum(0) + counts)[query]
        self.scores[queries[query], place] = scores[query, column]
        self.rows[queries[query], place] = column + first_row
        self._filled[queries] += counts

    def best(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores and rows of the best ``keep`` documents of each query, best first, each of shape (queries, keep)."""
        self._cut(torch.arange(len(self.scores), device=self.scores.device))
        return self.scores[:, : self.keep], self.rows[:, : self.keep]

    def _cut(self, queries: torch.Tensor) -> None:
        """Keep the best of what has been collected."""
        best, place = self.scores[queries].topk(self.keep, dim=1)
        self._replace(queries, best, self.rows[queries].gather(1, place))

    def _sort_in(self, queries: torch.Tensor, scores: torch.Tensor, first_row: int) -> None:
        """Keep the best of what has been collected and a whole block, where too much of the block may belong to it."""
        rows = torch.arange(first_row, first_row + scores.shape[1], device=scores.device).expand_as(scores)
        best, place = torch.cat([self.scores[queries, : self.keep], scores], dim=1).topk(self.keep, dim=1)
        self._replace(queries, best, torch.cat([self.rows[queries, : self.keep], rows], dim=1).gather(1, place))

    def _replace(self, queries: torch.Tensor, scores: torch.Tensor, rows: torch.Tensor) -> None:
        self.scores[queries, : self.keep] = scores
        self.rows[queries, : self.keep] = rows
        self.scores[queries, self.keep :] = -torch.inf
        self._filled[queries] = (scores > -torch.inf).sum(dim=1)
        self._least[queries] = scores[:, -1]
