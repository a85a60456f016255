"""Documents that are left out of the rankings of single queries, while a chunk is read in blocks."""

from typing import NamedTuple

import torch


class ExcludedPairs(NamedTuple):
    """Pairs of a query and a document that is left out of its ranking, by row, so that those of a block lie together."""

    row: torch.Tensor  # row of the document, ascending, int64 of shape (n,)
    query: torch.Tensor  # place of the query, int64 of shape (n,)

    @classmethod
    def of(cls, excluded: torch.Tensor) -> "ExcludedPairs":
        """Take the rows of each query, -1 for none, int64 of shape (queries, n)."""
        # Both numbers as one: to sort rows and take the queries along takes several times as long.
        queries = torch.arange(len(excluded), device=excluded.device)
        pairs = ((excluded << 32) + queries[:, None])[excluded >= 0].sort().values
        return cls(pairs >> 32, pairs & 0xFFFFFFFF)

    def leave_out(self, scores: torch.Tensor, first: int) -> None:
        """Set the scores of the pairs to minus infinity.

        ``scores``, contiguous float32 of shape (queries, documents), are those of neighbouring documents, the first of which has
        the row ``first``.
        """
        if len(self.row):
            documents = scores.shape[1]
            bounds = torch.tensor([first, first + documents], device=self.row.device)
            start, stop = torch.searchsorted(self.row, bounds).tolist()
            places = self.query[start:stop] * documents + (self.row[start:stop] - first)
            scores.view(-1).index_fill_(0, places, -torch.inf)
