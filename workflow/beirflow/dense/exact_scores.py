"""Scores that depend only on their two vectors.

A score is the dot product of two vectors, summed in float64 as :func:`careful_scores` does and rounded to float32. So it does not
depend on the chunk, the block or the number of threads, and on the device only where two sums in float64 round to different
sides, once in a hundred million times. Equally many are always summed at once, since on CUDA the order of a sum depends on how
many there are.

On a CPU most are computed faster, in whatever order. Products of float32 numbers are exact in float64, so a sum of d of them is
off by at most g |x| |y|, where g = d u / (1 - d u) and u is the unit roundoff of float64 (Higham 2002, section 3.1), whatever its
order, and two such sums are at most 2 g |x| |y| apart. Where everything so near rounds to the same float32, so does the careful
sum; it is computed only where that is not so, which is once in some ten thousand times.
"""

import numpy as np
import torch

from beirflow.dense.chunk_blocks import Chunk

UNIT_ROUNDOFF = 2.0**-53
"""Of float64."""

LOST = 2.0**-62
"""Times the root of the dimensions, what the norm of a vector in float32 may lack because squares are too small for it."""


def exact_scores(chunk: Chunk, block: torch.Tensor, norms: torch.Tensor, query: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    """Dot products of pairs of query and document, in float64 and rounded to float32.

    Args:
        chunk: Whose queries they are.
        block: Documents, float32 of shape (documents, dim).
        norms: Their lengths, float32 of shape (documents,).
        query: Number of each pair's query, ascending, int64 of shape (n,).
        row: Row of each pair's document, int64 of shape (n,).

    Returns:
        float32 of shape (n,); equal vectors have equal scores, wherever they are.
    """
    if block.is_cuda or not len(query):
        return careful_scores(chunk.queries, block, query, row, chunk.sizes.pairs)
    sums = np.empty(len(query))
    numbers, vectors, queries, rows = query.numpy(), block.numpy(), chunk.queries.double().numpy(), row.numpy()
    bounds, at_once = np.searchsorted(numbers, np.arange(len(queries) + 1)).tolist(), chunk.sizes.at_once

    def score(some: slice) -> None:
        for number in range(some.start, some.stop):
            for start in range(bounds[number], bounds[number + 1], at_once):
                pairs = slice(start, min(start + at_once, bounds[number + 1]))
                sums[pairs] = np.vecdot(vectors[rows[pairs]], queries[number])  # in float64

    chunk.share(score)
    longest = float(norms.max()) + LOST * queries.shape[1] ** 0.5
    near = 4 * queries.shape[1] * UNIT_ROUNDOFF * longest * np.linalg.norm(queries, axis=1)[numbers]
    scores = (sums - near).astype(np.float32)
    in_doubt = scores != (sums + near).astype(np.float32)
    doubtful = torch.from_numpy(np.flatnonzero(in_doubt))
    careful = careful_scores(chunk.queries, block, query[doubtful], row[doubtful], chunk.sizes.pairs)
    scores[in_doubt] = careful.numpy()
    return torch.from_numpy(scores + np.float32(0))  # no -0


def careful_scores(
    queries: torch.Tensor, documents: torch.Tensor, query: torch.Tensor, row: torch.Tensor, size: int
) -> torch.Tensor:
    """Dot products of pairs of query and document, accumulated in float64 in one order and rounded to float32.

    Args:
        queries: float32 of shape (queries, dim).
        documents: float32 of shape (documents, dim).
        query: Number of each pair's query, int64 of shape (n,).
        row: Row of each pair's document, int64 of shape (n,).
        size: How many are summed at once.

    Returns:
        float32 of shape (n,).
    """
    missing = -len(row) % size
    rows, numbers = (torch.nn.functional.pad(pair, (0, missing)) for pair in (row, query))  # the first pair of rows, and not read
    scores = torch.empty(len(rows), device=queries.device)
    for start in range(0, len(rows), size):
        pairs = slice(start, start + size)
        products = documents.index_select(0, rows[pairs]).double()
        scores[pairs] = products.mul_(queries.index_select(0, numbers[pairs])).sum(dim=1)
    return scores[: len(row)]
