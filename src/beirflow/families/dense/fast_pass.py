"""The documents whose exact scores may be among the k best, by fast scores and a bound on their error.

The pass begins with a guess, from a sample, of the score from which documents count; if the guess proves too high, the pass is
repeated without it.

Fast scores are computed in float32. Where the processor has instructions for bfloat16, they take half the time in bfloat16, but
are so rough that more documents must be scored exactly. So bfloat16 is used where the sample says that these are few, and float32
for the queries that have more of them after all.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from beirflow.core.progress import Progress
from beirflow.families.dense.chunk_blocks import Chunk, InMemoryChunk, prepare, rounded_to
from beirflow.ranking.shortlist import Candidates, Shortlist, kth_largest
from beirflow.run.devices import choose_precision

SPARE = 128  # candidates kept beyond k: room for documents whose fast scores cannot be distinguished from the k-th

DOCUMENTS_OF_A_CANDIDATE = 64
"""Computing so many fast scores in bfloat16 instead of float32 saves about the time that scoring one candidate exactly takes."""

FEWEST_QUERIES = 256  # with fewer, it takes longer to round the documents to bfloat16 than that saves
ASKED_QUERIES = 64  # so many say by the sample how many candidates there are in bfloat16
MORE_THAN_EXPECTED = 1.25  # for how many times the expected candidates beyond k there is room, since the sample may be wrong
MOST_CANDIDATES = 2  # in bfloat16, times those in float32, which limits memory
SAMPLE = 16  # one document in this many is looked at first, to guess which scores count
MOST_OF_A_SAMPLE = 16_384  # documents of the sample; and no more than two blocks
SLICES = 16  # slices of documents, evenly spread over the chunk, that make the sample

MARGIN = 4.0
"""Margin of the guess, in standard deviations of the number of the best in the sample, and documents: it is rarely too high."""

FOLDED = 8  # times the rank of the guess, scores of a query that are ranked: enough that few of the best fall on the same place

UNIT_ROUNDOFF = {torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8}
SMALLEST_NORMAL = 2.0**-126  # smallest normal number of both types


class _Shortlisted(NamedTuple):
    """The best documents by fast scores, the norm of the longest document, and that of the largest rounding."""

    shortlist: Shortlist
    longest: torch.Tensor
    rounded: float


def find_candidates(chunk: Chunk, k: int) -> Candidates | None:
    """Find the documents whose exact scores may be among the k best; queries and documents are not empty.

    None if a vector is not finite, or if a dot product may overflow.
    """
    sample = _sample(chunk)
    room = _room_in_bfloat16(chunk, sample, k)
    if room is not None:
        rough = replace(chunk, dtype=torch.bfloat16)
        near = _candidates(rough, _search(rough, room, _first_guess(rough, room, sample)), k)
        if near is not None:
            return _joined(near, near.crowded, lambda queries: _in_float32(chunk.of_queries(queries), sample, k))
    return _in_float32(chunk, sample, k)


def _in_float32(chunk: Chunk, sample: torch.Tensor | None, k: int) -> Candidates | None:
    """Find the candidates by fast scores in float32."""
    keep = min(len(chunk.documents), k + SPARE)
    near = _candidates(chunk, _search(chunk, keep, _first_guess(chunk, keep, sample)), k)
    if near is None:
        return None

    def without_guess(queries: torch.Tensor) -> Candidates | None:
        some = chunk.of_queries(queries)
        return _candidates(some, _search(some, keep, None), k)

    return _joined(near, near.few, without_guess)


def _candidates(chunk: Chunk, found: _Shortlisted, k: int) -> Candidates | None:
    """Select the candidates from a shortlist; None where the error of a fast score is not known."""
    kth = torch.empty(len(chunk.queries), device=chunk.queries.device)

    def ask(queries: slice) -> None:
        kth[queries] = found.shortlist.kth(k, queries)

    chunk.share(ask, chunk.sizes.again)
    bounds = _error_bounds(chunk, found.longest, found.rounded, kth)
    # Twice: the k-th score and the other one may each be off by the bound.
    return found.shortlist.candidates(kth - 2 * bounds) if bool(bounds.isfinite().all()) else None


def _joined(found: Candidates, queries: torch.Tensor, find: Callable[[torch.Tensor], Candidates | None]) -> Candidates | None:
    """Replace the candidates of some queries, which have none, by those that ``find`` returns."""
    if not len(queries):
        return found
    again = find(queries)
    if again is None:
        return None
    query, order = torch.cat([found.query, queries[again.query]]).sort(stable=True)
    crowded = torch.cat([found.crowded[~torch.isin(found.crowded, queries)], queries[again.crowded]])
    least = found.least.index_copy(0, queries, again.least)
    return Candidates(query, torch.cat([found.row, again.row])[order], least, crowded, crowded[:0])


def _error_bounds(chunk: Chunk, longest: torch.Tensor, rounded: float, kth: torch.Tensor) -> torch.Tensor:
    """Bound, for each query, the distance between a fast score about the k-th and the exact one.

    A dot product of length d in float32 is off by at most g |x| |y|, where g = d u / (1 - d u) and u is the unit roundoff, in
    whatever order it is summed (Higham 2002, section 3.1), as long as nothing is smaller than the smallest normal number m. What
    is smaller may be lost: at most m of each of d products and d sums, 2 d m together. The norms, too, are computed in float32,
    where at most 2 d m of the sum of squares is lost, so a vector is no longer than its computed norm and the root of 2 d m.

    Twice g is taken, and d + 2 for d: it covers the relative errors of the norms and of this bound, and that two exact scores
    which float32 does not tell apart tie; 4 m covers the same among the smallest numbers.

    In bfloat16, the vectors are first rounded, x by r and y by s, which changes a product by at most |r| |y| + |x + r| |s|. The
    product is summed in float32, and rounded to bfloat16 at the end. This last rounding keeps the order, so at the cut only that
    of the k-th score counts: a unit roundoff of it. The factor 1.01 covers the relative errors of this bound.

    ``longest`` is the norm of the longest document, ``rounded`` that of the largest rounding, ``kth`` the k-th fast score of each
    query. The result, float32 of shape (queries,), is not finite where a vector is not, or where a dot product may overflow.
    """
    dim = chunk.queries.shape[1]
    lost = 2 * dim * SMALLEST_NORMAL
    relative = (dim + 2) * UNIT_ROUNDOFF[torch.float32]
    summed, smallest = relative / (1 - relative), lost + 4 * SMALLEST_NORMAL
    longest, norms = longest + lost**0.5, chunk.queries.norm(dim=1) + lost**0.5
    if chunk.dtype == torch.float32:
        return summed * (2 * longest * norms) + smallest  # the product is infinite before a dot product is
    by_rounding, rounded = (chunk.queries - chunk.fast.float()).norm(dim=1) + lost**0.5, rounded + lost**0.5
    longest, norms = longest + rounded, norms + by_rounding
    changed = rounded * norms + longest * by_rounding
    at_the_end = UNIT_ROUNDOFF[chunk.dtype] * torch.where(kth > -torch.inf, kth.abs(), 0)
    return 1.01 * (changed + at_the_end + summed * (2 * longest * norms)) + smallest


def _sample(chunk: Chunk) -> torch.Tensor | None:
    """Return some documents, float32 of shape (n, dim); None where they save nothing."""
    documents = chunk.documents
    size = min(len(documents) // SAMPLE, MOST_OF_A_SAMPLE, 2 * chunk.sizes.documents)
    if isinstance(documents, InMemoryChunk) or not size:  # when they are held, there are few queries
        return None
    width = -(-size // SLICES)
    starts = np.linspace(0, len(documents) - width, SLICES).astype(int).tolist()
    parts = np.concatenate([documents[at : at + width] for at in starts])
    return prepare(parts, chunk.similarity, chunk.queries.device)


def _room_in_bfloat16(chunk: Chunk, sample: torch.Tensor | None, k: int) -> int | None:
    """Estimate the candidates of each query that need room in bfloat16; None where that would save no time."""
    device, queries, documents = chunk.queries.device, len(chunk.queries), len(chunk.documents)
    if sample is None or device.type != "cpu" or queries < FEWEST_QUERIES or choose_precision("auto", device) != torch.bfloat16:
        return None
    some = replace(chunk, dtype=torch.bfloat16).of_queries(torch.linspace(0, queries - 1, ASKED_QUERIES).long())
    scores, share = some.queries @ sample.T, len(sample) / documents
    kth = kth_largest(scores, min(len(sample), max(1, int(k * share))))
    bounds = _error_bounds(some, sample.norm(dim=1).max(), rounded_to(torch.bfloat16, sample)[1], kth[:, 0])
    expected = (scores >= kth - 2 * bounds[:, None]).sum(dim=1) / share
    room = k + SPARE + int(MORE_THAN_EXPECTED * max(0.0, float(expected.max()) - k))
    most = min(documents, k + documents // DOCUMENTS_OF_A_CANDIDATE, MOST_CANDIDATES * (k + SPARE))
    return room if room <= most else None


def _first_guess(chunk: Chunk, keep: int, sample: torch.Tensor | None) -> torch.Tensor | None:
    """Guess a score below that of at least ``keep`` documents, very likely, float32 of shape (queries, 1).

    None without a sample, or where a guess saves nothing.
    """
    if sample is None:
        return None
    expected = keep * len(sample) / len(chunk.documents)
    rank = int(expected + MARGIN * (1 + expected**0.5))
    if len(sample) < 2 * rank:
        return None
    best, documents = torch.empty(len(chunk.queries), 1, device=sample.device), sample.to(chunk.dtype)

    def guess(queries: slice) -> None:
        best[queries] = kth_largest(_folded(chunk.fast[queries] @ documents.T, FOLDED * rank).float(), rank)

    chunk.share(guess, chunk.sizes.again)
    # One step down, so that documents that tie with the guess count.
    return torch.nextafter(best, torch.full_like(best, -torch.inf))


def _folded(scores: torch.Tensor, least: int) -> torch.Tensor:
    """Reduce each row to at least so many scores, keeping the larger of each two, so that the k-th best is hardly lower."""
    while scores.shape[1] >= 2 * least:
        half = scores.shape[1] // 2
        scores = torch.maximum(scores[:, :half], scores[:, half : 2 * half])
    return scores


def _search(chunk: Chunk, keep: int, least: torch.Tensor | None) -> _Shortlisted:
    """Return the best ``keep`` documents of each query, or those above the least scores."""
    shortlist = Shortlist(len(chunk.queries), keep, chunk.queries.device, least)
    longest, rounded = torch.zeros((), device=chunk.queries.device), 0.0
    with Progress("search", len(chunk.documents), "documents") as progress:
        for block in chunk.blocks():

            def offer(queries: slice, start: int = block.start, documents: torch.Tensor = block.fast) -> None:
                for first in range(0, len(documents), chunk.sizes.at_once):
                    some = documents[first : first + chunk.sizes.at_once]
                    shortlist.offer(queries, chunk.scores(queries, start + first, some), start + first)

            chunk.share(offer)
            longest, rounded = torch.maximum(longest, block.norms.max()), max(rounded, block.rounded)
            progress.advance(len(block.vectors))
    return _Shortlisted(shortlist, longest, rounded)
