"""The exact top k of many vectors.

A fast pass in float32 finds candidates; their scores are then computed again in float64 and rounded to float32, so that a score
depends on its two vectors alone: not on the chunk, the block or the number of threads, and on the device only where two sums in
float64 round to different sides, once in a hundred million times. Equally many are always summed at once, since on CUDA the order
of a sum depends on how many there are. The fast pass keeps every document whose exact score may reach the k-th, by a bound on the
rounding error of a dot product: the cut is exact, ties included.

The chunk is read twice in blocks, once for each pass, and a third time where more documents lie about the k-th score than there
is room for. Memory holds a block, the queries, and the candidates, however many dimensions there are and however many scores tie.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch

from beirflow.dense.compression import CompressedFile
from beirflow.dense.shortlist import Shortlist
from beirflow.dense.vectors import VectorFile
from beirflow.files.errors import DataError
from beirflow.files.progress import Progress
from beirflow.runs.ranking import Hits, merge_hits


class Blocks(NamedTuple):
    """How much is computed at once: queries and documents of the fast pass, and pairs that are scored exactly."""

    queries: int
    documents: int
    pairs: int

    def of_dim(self, dim: int) -> "Blocks":
        """The same, with fewer documents and pairs where vectors have so many dimensions that they would take too much memory."""
        documents = max(1, BLOCK_BYTES // (DOCUMENT_BYTES * dim))
        pairs = max(1, PAIRS_BYTES // (PAIR_BYTES * dim))
        return Blocks(self.queries, min(self.documents, documents), min(self.pairs, pairs))


BLOCKS = {"cpu": Blocks(512, 16_384, 512), "cuda": Blocks(4096, 65_536, 1 << 18)}
"""At most: on a CPU what its caches hold, on a GPU enough to keep it busy: there a block of scores takes 1 GiB."""

BLOCK_BYTES = 1 << 30
DOCUMENT_BYTES = 24
"""Of a component of a document while it is scaled to length 1: as it is read, twice in float64, and the result."""

PAIRS_BYTES = 1 << 28
PAIR_BYTES = 16
"""Of a component of a pair while it is scored: both vectors, and their products in float64."""

CROWDED_PAIRS = 1 << 22
"""Pairs that are scored and merged at once where all documents of a block may tie, which takes some 100 bytes each."""

SPARE = 128
"""Candidates kept beyond k: the room for documents whose scores the fast pass cannot tell apart from the k-th."""

UNIT_ROUNDOFF = 2.0**-24
SMALLEST_NORMAL = 2.0**-126
"""Of float32."""


def exact_top_k(
    queries: np.ndarray,
    documents: np.ndarray | VectorFile | CompressedFile,
    id_order: np.ndarray,
    k: int,
    *,
    similarity: str,
    excluded: np.ndarray,
    device: torch.device,
) -> Hits:
    """The k best documents of each query by the ranking rule.

    Args:
        queries: float32 of shape (queries, dim).
        documents: float32 of shape (documents, dim); read in slices.
        id_order: Place of each document's id in byte order, integers of shape (documents,).
        k: Documents to keep for each query.
        similarity: ``dot`` or ``cosine``; a vector of zeros has cosine 0 with every other.
        excluded: For each query a row of ``documents`` that is left out, or -1; shape (queries,).
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
    torch.set_float32_matmul_precision("highest")  # the bound supposes it
    if not len(documents):
        return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)
    matrix = _prepare(queries, similarity, device)
    chunk = _Chunk(matrix, documents, torch.from_numpy(excluded.astype(np.int64)).to(device), similarity)
    scores, rows, longest = _fast_pass(chunk, min(len(documents), k + SPARE))
    bounds = _error_bounds(matrix, longest)
    if not bool(bounds.isfinite().all()):
        raise _not_finite(chunk)
    least = scores[:, min(k, scores.shape[1]) - 1] - 2 * bounds
    inside = (scores >= least[:, None]) & (scores > -torch.inf)
    crowded = inside[:, -1] & (scores.shape[1] < len(documents))
    query, place = (inside & ~crowded[:, None]).nonzero(as_tuple=True)
    hits = [
        *_score_candidates(chunk, query, rows[query, place]),
        *_score_crowded(chunk, crowded.nonzero().flatten(), least, id_order, k),
    ]
    return merge_hits(hits, lambda rows: id_order[rows], k)[:3]


def _error_bounds(queries: torch.Tensor, longest: torch.Tensor) -> torch.Tensor:
    """How far, for each query, a fast score may lie from the exact one.

    A dot product of length d in float32 is off by at most g |x| |y|, where g = d u / (1 - d u) and u is the unit roundoff, in
    whatever order it is summed (Higham 2002, section 3.1), as long as nothing is smaller than the smallest normal number m. What
    is smaller may be lost: at most m of each of d products and d sums, 2 d m together. The norms, too, are computed in float32,
    where at most 2 d m of the sum of squares is lost, so a vector is no longer than its computed norm and the root of 2 d m.

    Twice g is taken, and d + 2 for d: it covers the relative errors of the norms and of this bound, and that two exact scores
    which float32 does not tell apart tie; 4 m covers the same among the smallest numbers.

    Args:
        queries: float32 of shape (queries, dim).
        longest: Norm of the longest document, float32.

    Returns:
        float32 of shape (queries,); not finite where a vector is not, or where a dot product may overflow.
    """
    dim = queries.shape[1]
    lost = 2 * dim * SMALLEST_NORMAL
    rounding = (dim + 2) * UNIT_ROUNDOFF
    norms = 2 * (longest + lost**0.5) * (queries.norm(dim=1) + lost**0.5)  # infinite before a dot product is
    return rounding / (1 - rounding) * norms + (lost + 4 * SMALLEST_NORMAL)


def _not_finite(chunk: "_Chunk") -> DataError:
    """The error for vectors whose dot products cannot be computed in float32."""
    todo = "; encode them again, in precision float32 if it was a lower one"
    for start, vectors in chain([(0, chunk.queries)], chunk.blocks()):
        finite = vectors.isfinite().all(dim=1)
        if not bool(finite.all()):
            whose = "queries'" if vectors is chunk.queries else "documents'"
            row = start + int(finite.int().argmin())
            return DataError(f"the {whose} vectors hold infinity or not-a-number, first in row {row}{todo}")
    return DataError("the vectors are so long that their dot products overflow float32; use the cosine, or another model")


@dataclass(frozen=True)
class _Chunk:
    """What is searched for and in what: queries on the device, documents that are read in blocks."""

    queries: torch.Tensor
    documents: np.ndarray | VectorFile | CompressedFile
    excluded: torch.Tensor
    similarity: str

    @property
    def sizes(self) -> Blocks:
        """How much is computed at once on this device."""
        return BLOCKS[self.queries.device.type].of_dim(self.queries.shape[1])

    def blocks(self) -> Iterator[tuple[int, torch.Tensor]]:
        """Blocks of documents, each with the row of its first."""
        for start in range(0, len(self.documents), self.sizes.documents):
            block = self.documents[start : start + self.sizes.documents]
            yield start, _prepare(block, self.similarity, self.queries.device)

    def scores(self, queries: torch.Tensor, start: int, block: torch.Tensor) -> torch.Tensor:
        """Fast scores of some queries, given by their numbers, with a block; minus infinity for a document that is left out."""
        scores = self.queries[queries] @ block.T
        own = self.excluded[queries] - start
        here = ((own >= 0) & (own < len(block))).nonzero().flatten()
        scores[here, own[here]] = -torch.inf
        return scores


def _prepare(vectors: np.ndarray, similarity: str, device: torch.device) -> torch.Tensor:
    """Vectors on the device, scaled to length 1 for the cosine."""
    tensor = torch.from_numpy(vectors).to(device)
    if similarity == "cosine":
        exact = tensor.double()
        tensor = (exact / exact.norm(dim=1, keepdim=True).clamp_min(1e-60)).float()
    return tensor


def _fast_pass(chunk: _Chunk, keep: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Fast scores and rows of the best ``keep`` documents of each query, best first; and the longest document's length."""
    device = chunk.queries.device
    shortlist = Shortlist(len(chunk.queries), keep, device)
    longest = torch.zeros((), device=device)
    with Progress("search", len(chunk.documents), "documents") as progress:
        for start, block in chunk.blocks():
            longest = torch.maximum(longest, block.norm(dim=1).max())
            for queries in torch.split(torch.arange(len(chunk.queries), device=device), chunk.sizes.queries):
                shortlist.offer(queries, chunk.scores(queries, start, block), start)
            progress.advance(len(block))
    return *shortlist.best(), longest


def _score_candidates(chunk: _Chunk, query: torch.Tensor, row: torch.Tensor) -> Iterator[Hits]:
    """Exact scores of pairs of query and document, block by block."""
    block_of = row // chunk.sizes.documents
    order = block_of.argsort(stable=True)
    counts = torch.bincount(block_of, minlength=-(-len(chunk.documents) // chunk.sizes.documents)).tolist()
    for (start, block), here in zip(chunk.blocks(), torch.split(order, counts), strict=True):
        yield _hits(query[here], row[here], exact_scores(chunk.queries, block, query[here], row[here] - start))


def _score_crowded(chunk: _Chunk, crowded: torch.Tensor, least: torch.Tensor, id_order: np.ndarray, k: int) -> list[Hits]:
    """Exact top k of queries, a few at a time, with more documents about the k-th score than the shortlist has room for."""
    if not len(crowded):
        return []
    groups = torch.split(crowded, max(1, CROWDED_PAIRS // min(len(chunk.documents), chunk.sizes.documents)))
    best: list[Hits] = [_hits(crowded[:0], crowded[:0], least[:0]) for _ in groups]
    for start, block in chunk.blocks():
        for group, queries in enumerate(groups):
            scores = chunk.scores(queries, start, block)
            place, column = ((scores >= least[queries, None]) & (scores > -torch.inf)).nonzero(as_tuple=True)
            exact = exact_scores(chunk.queries, block, queries[place], column)
            found = _hits(queries[place], column + start, exact)
            best[group] = merge_hits([best[group], found], lambda rows: id_order[rows], k)[:3]
    return best


def exact_scores(queries: torch.Tensor, documents: torch.Tensor, query: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    """Dot products of pairs of query and document, accumulated in float64 and rounded to float32.

    Args:
        queries: float32 of shape (queries, dim).
        documents: float32 of shape (documents, dim).
        query: Number of each pair's query, int64 of shape (n,).
        row: Row of each pair's document, int64 of shape (n,).

    Returns:
        float32 of shape (n,); equal vectors have equal scores, wherever they are.
    """
    size = BLOCKS[queries.device.type].of_dim(queries.shape[1]).pairs
    missing = -len(row) % size
    rows, numbers = (torch.nn.functional.pad(pair, (0, missing)) for pair in (row, query))  # the first pair of rows, and not read
    scores = torch.empty(len(rows), device=queries.device)
    for start in range(0, len(rows), size):
        pairs = slice(start, start + size)
        products = documents.index_select(0, rows[pairs]).double()
        scores[pairs] = products.mul_(queries.index_select(0, numbers[pairs])).sum(dim=1)
    return scores[: len(row)]


def _hits(query: torch.Tensor, row: torch.Tensor, score: torch.Tensor) -> Hits:
    return query.cpu().numpy().astype(np.int32), row.cpu().numpy().astype(np.int32), score.cpu().numpy()
