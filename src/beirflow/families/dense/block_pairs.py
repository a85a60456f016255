"""Pairs of a query and a document, by the blocks in which documents are compared with queries."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import torch


def by_block(row: torch.Tensor, starts: Sequence[int]) -> tuple[torch.Tensor, list[int]]:
    """Order pairs by the block of their document, else stably; return the order and the number of pairs of each block.

    ``row`` are the rows of the documents, and ``starts`` those of the first document of each block, ascending.
    """
    firsts = torch.tensor(starts, device=row.device, dtype=row.dtype)
    block = torch.searchsorted(firsts, row, right=True, out_int32=True) - 1
    # Short numbers are sorted faster.
    order = block.to(torch.int16 if len(firsts) < 1 << 15 else torch.int32).argsort(stable=True)
    return order, torch.bincount(block, minlength=len(firsts)).tolist()


class ExcludedPairs(NamedTuple):
    """Pairs of a query and a document that is left out of its ranking, block by block."""

    place: torch.Tensor  # place of the query, in each block ascending, so that its scores are written one after the other; int64
    row: torch.Tensor  # row of the document, int64 of the same shape (n,)
    starts: Sequence[int]  # row of the first document of each block
    bounds: Sequence[int]  # number of the first pair of each block, and at the end that of all

    @classmethod
    def of(cls, excluded: torch.Tensor, starts: Sequence[int]) -> "ExcludedPairs":
        """Take the rows of each query, -1 for none, int64 of shape (queries, n)."""
        place, column = (excluded >= 0).nonzero(as_tuple=True)
        row = excluded[place, column]
        order, counts = by_block(row, starts)
        return cls(place.index_select(0, order), row.index_select(0, order), starts, [0, *accumulate(counts)])

    def leave_out(self, scores: torch.Tensor, first: int) -> None:
        """Set the scores of the pairs to minus infinity.

        ``scores``, contiguous float32 of shape (queries, documents), are those of whole blocks, the first of which begins at the
        row ``first``.
        """
        documents = scores.shape[1]
        start, stop = (self.bounds[bisect_left(self.starts, row)] for row in (first, first + documents))
        if start < stop:
            places = self.place[start:stop] * documents + (self.row[start:stop] - first)
            scores.view(-1).index_fill_(0, places, -torch.inf)
