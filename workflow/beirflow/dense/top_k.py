"""The exact top k of many vectors.

A fast pass in float32 finds candidates; their scores are then computed again in float64 and rounded to float32, so that a score
depends on its two vectors alone. The fast pass keeps every document whose exact score may reach the k-th, by a bound on the
rounding error of a dot product: the cut is exact, ties included. It begins with a guess, from a sample, of the score from which
documents count; if the guess proves too high, the pass is repeated without it.

The chunk is read twice in blocks, once for each pass, and once more where more documents lie about the k-th score than there
is room for. Memory holds two blocks, the queries, and the candidates, however many dimensions there are and however many scores
tie.
"""

from collections.abc import Iterator
from itertools import chain

import numpy as np
import torch

from beirflow.dense.chunk_blocks import Block, Chunk, Held, Vectors, prepare
from beirflow.dense.exact_scores import exact_scores
from beirflow.files.errors import DataError
from beirflow.files.progress import Progress
from beirflow.jobs.threads import Threads
from beirflow.runs.ranking import Hits, merge_hits
from beirflow.runs.shortlist import Shortlist, kth_largest

CROWDED_PAIRS = 1 << 22
"""Pairs that are scored and merged at once where all documents of a block may tie, which takes some 100 bytes each."""

SPARE = 128
"""Candidates kept beyond k: the room for documents whose scores the fast pass cannot tell apart from the k-th."""

SAMPLE = 16
"""One document in this many, but no more than a block, is looked at first, to guess which scores count."""

SLICES = 16
"""Of documents, which lie evenly in the chunk, that the sample consists of."""

MARGIN = 4.0
"""Of the guess, in standard deviations of how many of the best are in the sample, and documents: it is rarely too high."""

UNIT_ROUNDOFF = 2.0**-24
SMALLEST_NORMAL = 2.0**-126
"""Of float32."""


def exact_top_k(
    queries: np.ndarray,
    documents: Vectors | Held,
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
        documents: float32 of shape (documents, dim); read in slices, unless they are held for the same similarity and device.
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
    if not len(documents) or not len(queries):
        return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)
    matrix = prepare(queries, similarity, device)
    with Threads(device, alone=len(queries) == 1) as threads:
        chunk = Chunk(matrix, documents, torch.from_numpy(excluded.astype(np.int64)).to(device), similarity, threads)
        scores, rows, longest = _fast_pass(chunk, min(len(documents), k + SPARE))
        bounds = _error_bounds(matrix, longest)
        if not bool(bounds.isfinite().all()):
            raise not_finite(chunk)
        least = scores[:, min(k, scores.shape[1]) - 1] - 2 * bounds
        inside = (scores >= least[:, None]) & (scores > -torch.inf)
        crowded = inside[:, -1] & (scores.shape[1] < len(documents))
        rows[~inside | crowded[:, None]] = len(documents)
        hits = [*score_candidates(chunk, rows), *_score_crowded(chunk, crowded.nonzero().flatten(), least, id_order, k)]
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


def not_finite(chunk: Chunk) -> DataError:
    """The error for vectors whose dot products cannot be computed in float32."""
    todo = "; encode them again, in precision float32 if it was a lower one"
    for start, vectors, _ in chain([Block(0, chunk.queries, chunk.queries)], chunk.blocks()):
        finite = vectors.isfinite().all(dim=1)
        if not bool(finite.all()):
            whose = "queries'" if vectors is chunk.queries else "documents'"
            row = start + int(finite.int().argmin())
            return DataError(f"the {whose} vectors hold infinity or not-a-number, first in row {row}{todo}")
    return DataError("the vectors are so long that their dot products overflow float32; use the cosine, or another model")


def _fast_pass(chunk: Chunk, keep: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Fast scores and rows of the best ``keep`` documents of each query, best first; and the longest document's length."""
    scores, rows, longest = _shortlist(chunk, keep, _first_guess(chunk, keep))
    short = (scores[:, -1] == -torch.inf).nonzero().flatten()
    if len(short) and len(chunk.documents) > keep:  # the guess was too high, or there are no more
        scores[short], rows[short], _ = _shortlist(chunk.of_queries(short), keep, None)
    return scores, rows, longest


def _first_guess(chunk: Chunk, keep: int) -> torch.Tensor | None:
    """For each query a score below that of at least ``keep`` documents, very likely; None where a guess saves nothing.

    Args:
        chunk: Is sampled.
        keep: How many documents there should be.

    Returns:
        float32 of shape (queries, 1).
    """
    documents = chunk.documents
    if isinstance(documents, Held):  # then there are few queries
        return None
    size = min(len(documents) // SAMPLE, chunk.sizes.documents)
    expected = keep * size / max(1, len(documents))
    rank = int(expected + MARGIN * (1 + expected**0.5))
    if size < 2 * rank:
        return None
    width = -(-size // SLICES)
    starts = np.linspace(0, len(documents) - width, SLICES).astype(int).tolist()
    sample = prepare(np.concatenate([documents[at : at + width] for at in starts]), chunk.similarity, chunk.queries.device)
    best = torch.empty(len(chunk.queries), 1, device=sample.device)

    def guess(queries: slice) -> None:
        best[queries] = kth_largest(chunk.queries[queries] @ sample.T, rank)

    chunk.share(guess)
    return torch.nextafter(best, torch.full_like(best, -torch.inf))


def _shortlist(chunk: Chunk, keep: int, least: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The best documents above the least scores, and the longest document's length, as :func:`_fast_pass`."""
    shortlist = Shortlist(len(chunk.queries), keep, chunk.queries.device, least)
    longest = torch.zeros((), device=chunk.queries.device)
    with Progress("search", len(chunk.documents), "documents") as progress:
        for start, block, norms in chunk.blocks():

            def offer(queries: slice, start: int = start, block: torch.Tensor = block) -> None:
                for first in range(0, len(block), chunk.sizes.at_once):
                    some = block[first : first + chunk.sizes.at_once]
                    shortlist.offer(queries, chunk.scores(queries, start + first, some), start + first)

            chunk.share(offer)
            longest = torch.maximum(longest, norms.max())
            progress.advance(len(block))
    return *shortlist.best(), longest


def score_candidates(chunk: Chunk, rows: torch.Tensor) -> Iterator[Hits]:
    """Exact scores of some documents of each query, block by block.

    Args:
        chunk: Is read once.
        rows: Their rows, integers of shape (queries, n); those beyond the last document are left out.

    Yields:
        Number of the query, row and score of each, of one block.
    """
    rows = rows.sort(dim=1).values
    ends = torch.zeros((len(rows), 1), dtype=torch.long, device=rows.device)
    for start, block, norms in chunk.blocks():
        begins, ends = ends, torch.searchsorted(rows, torch.full_like(rows[:, :1], start + len(block)))
        counts = (ends - begins)[:, 0]
        query = torch.repeat_interleave(counts)
        place = torch.arange(len(query), device=rows.device) + (ends[:, 0] - counts.cumsum(0))[query]
        row = rows[query, place].long()
        yield _hits(query, row, exact_scores(chunk, block, norms, query, row - start))


def _score_crowded(chunk: Chunk, crowded: torch.Tensor, least: torch.Tensor, id_order: np.ndarray, k: int) -> list[Hits]:
    """Exact top k of queries, a few at a time, with more documents about the k-th score than the shortlist has room for."""
    if not len(crowded):
        return []
    groups = torch.split(crowded, max(1, CROWDED_PAIRS // min(len(chunk.documents), chunk.sizes.documents)))
    best: list[Hits] = [_hits(crowded[:0], crowded[:0], least[:0]) for _ in groups]
    for start, block, norms in chunk.blocks():
        for group, queries in enumerate(groups):
            scores = chunk.scores(queries, start, block)
            place, column = ((scores >= least[queries, None]) & (scores > -torch.inf)).nonzero(as_tuple=True)
            exact = exact_scores(chunk, block, norms, queries[place], column)
            found = _hits(queries[place], column + start, exact)
            best[group] = merge_hits([best[group], found], lambda rows: id_order[rows], k)[:3]
    return best


def _hits(query: torch.Tensor, row: torch.Tensor, score: torch.Tensor) -> Hits:
    return query.cpu().numpy().astype(np.int32), row.cpu().numpy().astype(np.int32), score.cpu().numpy()
