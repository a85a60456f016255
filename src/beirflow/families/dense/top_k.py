"""The exact top k of many vectors.

Fast scores, in float32, say which documents of a block may be among the best: those within the error of a fast score from the
k-th best score so far, or from a guess of it. Their scores are computed again in float64 and rounded to float32, so that a score
depends on its two vectors alone. No document is left out whose exact score may reach the k-th: the cut is exact, ties included.

The guess comes from a sample. It only saves time: where it proves too high, the queries are searched again without it. Memory
holds two blocks, the queries, and the best so far, however many dimensions there are and however many scores tie.
"""

import warnings
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from beirflow.core.errors import DataError
from beirflow.core.progress import Progress
from beirflow.families.dense.chunk import SIZES, Block, Chunk, InMemoryChunk, Vectors, longest_norm, prepare
from beirflow.models.computing.arrival import send
from beirflow.ranking.ranking import Cut, Hits, no_hits
from beirflow.ranking.shortlist import SLICES, Shortlist, kth_largest, places_from, rank_in_sample, search_with_guess
from beirflow.run.devices import multiply, require_exact_products, within_memory
from beirflow.run.threads import Threads

warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")


PAIRS_BYTES = 1 << 28
PAIR_BYTES = 16  # bytes of a component of a pair while it is scored: both vectors, and their products in float64

MOST_PAIRS = 1 << 22  # pairs of a product that are scored together, which takes some 100 bytes each

SMALLEST_SAMPLE = 2048
SAMPLE = 16  # and one document in this many is looked at first, to guess which scores count; no more than two blocks

SMALLEST_NORMAL = 2.0**-126  # smallest normal number of float32

LOST = 2.0**-62
"""Times the root of the dimensions, what the norm of a vector in float32 may lack because squares are too small for it."""


def exact_top_k(
    queries: np.ndarray, documents: Vectors | InMemoryChunk, cut: Cut, *, similarity: str, device: torch.device
) -> Hits:
    """Return the best documents of each query.

    Args:
        queries: float32 of shape (queries, dim).
        documents: float32 of shape (documents, dim); read in slices, unless they are held for the same similarity and device.
        cut: Which documents are kept.
        similarity: ``dot`` or ``cosine``; a vector of zeros has cosine 0 with every other.
        device: Where to compute.

    Returns:
        Number of the query and row of the document, int32, and score, float32, of every hit, sorted by query and rank.

    Raises:
        DataError: The vectors have different dimensions, hold infinity or not-a-number, or are so long that a dot product may
            overflow.
    """
    if queries.shape[1] != documents.shape[1]:
        raise DataError(
            f"the queries' vectors have {queries.shape[1]} dimensions, the documents' {documents.shape[1]}; encode both again"
        )
    require_exact_products(device)
    if not len(documents) or not len(queries):
        return no_hits()
    excluded = cut.excluded.reshape(len(queries), -1)
    with Threads(device, alone=len(queries) == 1) as threads:
        whole = Chunk(prepare(queries, similarity, device), documents, excluded, similarity, threads)

        def search(halvings: int) -> Hits:
            """Search all documents."""
            chunk = replace(whole, halvings=halvings)
            return search_with_guess(partial(_search, chunk), _guess(chunk, cut.k + excluded.shape[1]), cut, threads)

        return within_memory(search, device)


def exact_of_pairs(
    queries: np.ndarray,
    documents: Vectors,
    pairs: tuple[np.ndarray, np.ndarray],
    cut: Cut,
    *,
    similarity: str,
    device: torch.device,
) -> Hits:
    """Rank given pairs of query and document, with the scores that they have among all.

    ``pairs`` are numbers of queries, ascending, and rows of documents, none excluded, int64 of shape (pairs,); everything else is
    as for :func:`exact_top_k`.
    """
    if not len(pairs[0]):
        return no_hits()
    with Threads(device) as threads:
        whole = Chunk(prepare(queries, similarity, device), documents, cut.excluded, similarity, threads)

        def search(halvings: int) -> Hits:
            """Score the pairs block by block."""
            chunk, (query, row) = replace(whole, halvings=halvings), pairs
            of_block, hits = row // chunk.starts.step, [no_hits()]
            for number, block in enumerate(chunk.blocks()):
                _finite_bounds(chunk, block)
                here = np.flatnonzero(of_block == number)
                some, rows = (torch.from_numpy(each[here]).to(device) for each in (query, row - block.start))
                scores = exact_scores(chunk, block, some, rows)
                hits.append((query[here].astype(np.int32), row[here].astype(np.int32), scores))
            return cut.first_of(hits)

        return within_memory(search, device)


def _search(chunk: Chunk, which: np.ndarray, shortlist: Shortlist) -> None:
    """Add to the shortlist of some queries all documents whose exact scores may reach its least ones."""
    chunk = replace(chunk, queries=chunk.queries[torch.from_numpy(which).to(chunk.device)], excluded=chunk.excluded[which])
    asking, column = np.nonzero(chunk.excluded >= 0)
    row = chunk.excluded[asking, column]
    with Progress("search", len(chunk.documents), "documents") as progress:
        for block in chunk.blocks():
            here = (row >= block.start) & (row < block.start + len(block.vectors))
            # What is left out has minus infinity, which never counts.
            least = (send(shortlist.least, chunk.device) - _finite_bounds(chunk, block)).clamp_min(torch.finfo(torch.float32).min)
            look = _Look(chunk, block, (asking[here], row[here] - block.start), least[:, None], shortlist)
            chunk.threads.share(look.at, len(which), chunk.queries_at_once)
            shortlist.settle()
            progress.advance(len(block.vectors))


class _Look(NamedTuple):
    """The state of a search for queries in a block."""

    chunk: Chunk
    block: Block
    left_out: tuple[np.ndarray, np.ndarray]  # numbers of queries, ascending, and rows of the block
    least: torch.Tensor  # fast score from which a document counts, float32 of shape (queries, 1)
    shortlist: Shortlist

    def at(self, queries: slice) -> None:
        """Add to the shortlist the documents that count for some of the queries."""
        scores = multiply(self.chunk.queries[queries], self.block.vectors)
        first, last = np.searchsorted(self.left_out[0], [queries.start, queries.stop])
        if first < last:
            query, row = (torch.from_numpy(each[first:last]).to(scores.device) for each in self.left_out)
            scores[query - queries.start, row] = -torch.inf
        self._add(queries.start, scores)

    def _add(self, first: int, scores: torch.Tensor) -> None:
        """Add what counts for the queries from the first on: of half of them at a time where it is much."""
        number, documents = scores.shape
        least = self.least[first : first + number]
        if scores.numel() > MOST_PAIRS and number > 1 and int((scores >= least).sum()) > MOST_PAIRS:
            self._add(first, scores[: number // 2])
            self._add(first + number // 2, scores[number // 2 :])
            return
        places = places_from(scores, least)
        query, row = places // documents + first, places % documents
        exact = exact_scores(self.chunk, self.block, query, row)
        self.shortlist.add((query.int().cpu().numpy(), (row + self.block.start).int().cpu().numpy(), exact), number)


def _guess(chunk: Chunk, k: int) -> np.ndarray:
    """Guess from a sample a score that at least k documents of each query reach, very likely: float32 of shape (queries,).

    Minus infinity where there is none, as where the sample is too small.
    """
    documents, most = len(chunk.documents), chunk.block_size(SIZES[chunk.device.type].few)
    size = min(documents, SMALLEST_SAMPLE + documents // SAMPLE, most)
    rank, guess = rank_in_sample(k, size, documents), np.full(len(chunk.queries), -np.inf, np.float32)
    if rank > size:
        return guess
    width = -(-size // SLICES)
    starts = range(0, documents, width) if size == documents else np.linspace(0, documents - width, SLICES).astype(int).tolist()
    sample = torch.cat([chunk.vectors(start, start + width) for start in starts])
    bounds = _error_bounds(chunk, longest_norm(sample))

    def look(some: slice) -> None:
        """Guess the k-th best score of some queries from the sample."""
        guess[some] = (kth_largest(multiply(chunk.queries[some], sample), rank) - bounds[some]).cpu().numpy()

    chunk.threads.share(look, len(guess), max(1, chunk.queries_at_once // 8))
    return guess


def _error_bounds(chunk: Chunk, longest: torch.Tensor) -> torch.Tensor:
    """Bound, for each query, the distance between the fast score of a document and the exact one.

    A dot product of length d in float32 is off by at most g |x| |y|, where g = d u / (1 - d u) and u is the unit roundoff, in
    whatever order it is summed (Higham 2002, section 3.1), as long as nothing is smaller than the smallest normal number m. What
    is smaller may be lost: at most m of each of d products and d sums, 2 d m together. The norms, too, are computed in float32,
    where at most 2 d m of the sum of squares is lost, so a vector is no longer than its computed norm and the root of 2 d m.

    Twice g is taken, and d + 4 for d: it covers the relative errors of the norms, of this bound and of what it is subtracted
    from, and that two exact scores which float32 does not tell apart tie; 4 m covers the same among the smallest numbers.

    ``longest`` is the norm of the longest document. The result, float32 of shape (queries,), is not finite where a vector is not,
    or where a dot product may overflow: the product of the norms is infinite before a dot product is.
    """
    dim = chunk.queries.shape[1]
    lost, relative = 2 * dim * SMALLEST_NORMAL, (dim + 4) * 2.0**-24
    norms = chunk.queries.norm(dim=1) + lost**0.5
    return relative / (1 - relative) * (2 * (longest + lost**0.5) * norms) + lost + 4 * SMALLEST_NORMAL


def _finite_bounds(chunk: Chunk, block: Block) -> torch.Tensor:
    """Return the bounds for the documents of a block; DataError for what cannot be computed in float32."""
    bounds = _error_bounds(chunk, block.longest)
    if bool(bounds.isfinite().all()):
        return bounds
    for whose, start, vectors in (("queries'", 0, chunk.queries), ("documents'", block.start, block.vectors)):
        finite = vectors.isfinite().all(dim=1)
        if not bool(finite.all()):
            found = f"hold infinity or not-a-number, first in row {start + int(finite.int().argmin())}"
            raise DataError(f"the {whose} vectors {found}; encode them again, in precision float32 if it was a lower one")
    raise DataError("the vectors are so long that their dot products overflow float32; use the cosine, or another model")


def exact_scores(chunk: Chunk, block: Block, query: torch.Tensor, row: torch.Tensor) -> np.ndarray:
    """Compute dot products of pairs of query and document, in float64 and rounded to float32, of shape (pairs,).

    ``query``, ascending, is the number of each pair's query, ``row`` the row of its document in the block, int64.

    On a CPU most are computed faster than by :func:`careful_scores`, in whatever order. Products of float32 numbers are exact in
    float64, so a sum of d of them is off by at most g |x| |y|, where g = d u / (1 - d u) and u is the unit roundoff of float64,
    whatever its order, and two such sums are at most 2 g |x| |y| apart. Where everything so near rounds to the same float32, so
    does the careful sum; it is computed only where that is not so, which is once in some ten thousand times.
    """
    if block.vectors.is_cuda or not len(query):
        return careful_scores(chunk.queries, block.vectors, query, row).cpu().numpy()
    documents, place = block.exact, row
    if documents is None:
        used, place = map(torch.from_numpy, np.unique(row.numpy(), return_inverse=True))
        documents = block.vectors[used].double()
    firsts = torch.searchsorted(query, torch.arange(len(chunk.queries) + 1))
    nothing, shape = torch.zeros(len(row), dtype=torch.float64), (len(chunk.queries), len(documents))
    pairs = torch.sparse_csr_tensor(firsts, place, nothing, shape, check_invariants=False)
    sums = torch.sparse.sampled_addmm(pairs, chunk.exact, documents.T, beta=0).values()
    dim = chunk.queries.shape[1]
    near = (4 * dim * 2.0**-53 * (float(block.longest) + LOST * dim**0.5) * chunk.norms)[query]
    scores = (sums - near).float()
    # A sum that rounds to the same float32 at both ends of its error is certain.
    doubtful = (scores != (sums + near).float()).nonzero().flatten()
    scores[doubtful] = careful_scores(chunk.queries, block.vectors, query[doubtful], row[doubtful])
    return (scores + 0).numpy()  # no -0


def careful_scores(queries: torch.Tensor, documents: torch.Tensor, query: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    """Compute dot products of pairs, summed in float64 in one order and rounded to float32, of shape (pairs,).

    So a score does not depend on the chunk, the block or the number of threads, and on the device only where two sums in float64
    round to different sides, once in a hundred million times. Equally many pairs are always summed at once, since on CUDA the
    order of a sum depends on how many there are.
    """
    size = min(SIZES[queries.device.type].pairs, max(1, PAIRS_BYTES // (PAIR_BYTES * queries.shape[1])))
    missing = -len(row) % size
    rows, numbers = (torch.nn.functional.pad(pair, (0, missing)) for pair in (row, query))  # the first pair of rows, and not read
    scores = torch.empty(len(rows), device=queries.device)
    for start in range(0, len(rows), size):
        pairs = slice(start, start + size)
        products = documents.index_select(0, rows[pairs]).double()
        scores[pairs] = products.mul_(queries.index_select(0, numbers[pairs])).sum(dim=1)
    return scores[: len(row)] + 0  # no -0
