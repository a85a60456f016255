"""Documents that are left out of the rankings of single queries, while a corpus is read in blocks."""

from typing import NamedTuple

import numpy as np
import torch


class ExcludedPairs(NamedTuple):
    """Pairs of a query and a document that is left out of its ranking, by row, so that those of a block lie together."""

    row: torch.Tensor  # row of the document, ascending, int64 of shape (n,)
    query: torch.Tensor  # number of the query, int64 of shape (n,)
    queries: int  # number of all queries

    @classmethod
    def of(cls, excluded: np.ndarray, device: torch.device) -> "ExcludedPairs":
        """Take the rows of each query, -1 for none, of shape (queries,) or (queries, n)."""
        rows = torch.from_numpy(excluded.reshape(len(excluded), -1)).to(device).long()
        # Both numbers as one: to sort rows and take the queries along takes several times as long.
        pairs = ((rows << 32) + torch.arange(len(rows), device=device)[:, None])[rows >= 0].sort().values
        return cls(pairs >> 32, pairs & 0xFFFFFFFF, len(rows))

    def of_queries(self, numbers: torch.Tensor) -> "ExcludedPairs":
        """Select the pairs of some queries, whose numbers become their places among these."""
        if not len(self.row):
            return self._replace(queries=len(numbers))
        place = torch.full((self.queries,), -1, device=numbers.device)
        place[numbers] = torch.arange(len(numbers), device=numbers.device)
        query = place[self.query]
        kept = (query >= 0).nonzero().flatten()
        return ExcludedPairs(self.row[kept], query[kept], len(numbers))

    def leave_out(self, scores: torch.Tensor, queries: slice | torch.Tensor, rows: torch.Tensor) -> None:
        """Set the scores of the pairs to minus infinity.

        ``scores`` are those of some queries and documents, contiguous float32 of shape (queries, documents), ``rows`` those of
        the documents, int64 of shape (documents,), in any order.
        """
        if not len(self.row):
            return
        start = torch.searchsorted(self.row, rows)
        counts = torch.searchsorted(self.row, rows, right=True) - start
        column = torch.arange(len(rows), device=rows.device).repeat_interleave(counts)
        pair = torch.arange(len(column), device=rows.device) + (start - counts.cumsum(0) + counts)[column]
        place = torch.full((self.queries,), -1, device=rows.device)
        place[queries] = torch.arange(len(scores), device=rows.device)
        query = place[self.query[pair]]
        some = (query >= 0).nonzero().flatten()
        scores.view(-1).index_fill_(0, query[some] * scores.shape[1] + column[some], -torch.inf)
