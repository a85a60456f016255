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

import warnings

import numpy as np
import torch

from beirflow.families.dense.chunk_blocks import Chunk
from beirflow.run.threads import Threads

warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")

UNIT_ROUNDOFF = 2.0**-53  # unit roundoff of float64

GROUP_BYTES = 1 << 22
FEWEST_OF_A_GROUP = 256
"""Documents in float64 whose products with all queries are computed one after the other: about what a cache holds."""

LOST = 2.0**-62
"""Times the root of the dimensions, what the norm of a vector in float32 may lack because squares are too small for it."""


def exact_scores(chunk: Chunk, block: torch.Tensor, norms: torch.Tensor, query: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    """Compute dot products of pairs of query and document, in float64 and rounded to float32, of shape (pairs,).

    Args:
        chunk: The chunk with the queries.
        block: Documents, float32 of shape (documents, dim).
        norms: Their lengths, float32 of shape (documents,).
        query: Number of each pair's query, ascending, int64 of shape (pairs,).
        row: Row of each pair's document, int64 of shape (pairs,).

    Returns:
        The scores; equal vectors have equal scores, wherever they are.
    """
    if block.is_cuda or not len(query):
        return careful_scores(chunk.queries, block, query, row, chunk.sizes.pairs)
    dim, queries = block.shape[1], chunk.queries.double()
    sums = _fast_sums(queries, block, query.numpy(), row.numpy(), chunk.threads)
    longest = float(norms.max()) + LOST * dim**0.5
    near = 4 * dim * UNIT_ROUNDOFF * longest * queries.norm(dim=1).numpy()[query.numpy()]
    scores = (sums - near).astype(np.float32)
    # A sum that rounds to the same float32 at both ends of its error is certain.
    in_doubt = scores != (sums + near).astype(np.float32)
    doubtful = torch.from_numpy(np.flatnonzero(in_doubt))
    careful = careful_scores(chunk.queries, block, query[doubtful], row[doubtful], chunk.sizes.pairs)
    scores[in_doubt] = careful.numpy()
    return torch.from_numpy(scores + np.float32(0))  # no -0


def _fast_sums(queries: torch.Tensor, block: torch.Tensor, query: np.ndarray, row: np.ndarray, threads: Threads) -> np.ndarray:
    """Compute dot products of pairs in float64, in any order: threads share groups of documents that fit into a cache.

    The arguments are those of :func:`exact_scores`, with the queries in float64.
    """
    sums, size = np.empty(len(query)), max(FEWEST_OF_A_GROUP, GROUP_BYTES // (8 * block.shape[1]))
    is_used = np.zeros(len(block), bool)
    is_used[row] = True
    used = np.flatnonzero(is_used)
    place = (np.cumsum(is_used) - 1)[row]
    pairs = np.argsort((place // size).astype(np.int16), kind="stable")  # so short numbers are sorted in one pass
    ends = np.searchsorted(place[pairs] // size, np.arange(-(-len(used) // size)), side="right").tolist()

    def add(groups: slice) -> None:
        for group in range(groups.start, groups.stop):
            some, first = pairs[ends[group - 1] if group else 0 : ends[group]], group * size
            documents = block[torch.from_numpy(used[first : first + size])].double()
            starts = np.searchsorted(query[some], np.arange(len(queries) + 1))
            wanted = torch.sparse_csr_tensor(
                torch.from_numpy(starts),
                torch.from_numpy(place[some] - first),
                torch.zeros(len(some), dtype=torch.float64),
                (len(queries), len(documents)),
                check_invariants=False,
            )
            sums[some] = torch.sparse.sampled_addmm(wanted, queries, documents.T, beta=0).values().numpy()

    threads.share(add, len(ends), 1)
    return sums


def careful_scores(
    queries: torch.Tensor, documents: torch.Tensor, query: torch.Tensor, row: torch.Tensor, size: int
) -> torch.Tensor:
    """Compute dot products of pairs, accumulated in float64 in one order and rounded to float32.

    The arguments are those of :func:`exact_scores`; ``size`` pairs are always summed at once.
    """
    missing = -len(row) % size
    rows, numbers = (torch.nn.functional.pad(pair, (0, missing)) for pair in (row, query))  # the first pair of rows, and not read
    scores = torch.empty(len(rows), device=queries.device)
    for start in range(0, len(rows), size):
        pairs = slice(start, start + size)
        products = documents.index_select(0, rows[pairs]).double()
        scores[pairs] = products.mul_(queries.index_select(0, numbers[pairs])).sum(dim=1)
    return scores[: len(row)]
