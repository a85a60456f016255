"""The exact top k of many vectors.

Fast scores find candidates; their scores are then computed again in float64 and rounded to float32, so that a score depends on
its two vectors alone. No document is left out whose exact score may reach the k-th: the cut is exact, ties included.

The chunk is read in blocks, once for fast scores and once for exact ones, and once more for queries with more documents about the
k-th score than there is room for. Memory holds two blocks, the queries, and the candidates, however many dimensions there are and
however many scores tie.
"""

from dataclasses import replace
from itertools import chain

import numpy as np
import torch

from beirflow.core.errors import DataError
from beirflow.families.dense.block_pairs import by_block
from beirflow.families.dense.chunk_blocks import Chunk, InMemoryChunk, Vectors, prepare
from beirflow.families.dense.exact_scores import exact_scores
from beirflow.families.dense.fast_pass import find_candidates
from beirflow.ranking.ranking import Cut, Hits, no_hits
from beirflow.ranking.shortlist import merge_sorted
from beirflow.run.devices import require_exact_products, within_memory
from beirflow.run.threads import Threads

CROWDED_PAIRS = 1 << 22
"""Pairs that are scored and merged at once where all documents of a block may tie, which takes some 100 bytes each."""


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
    matrix = prepare(queries, similarity, device)
    with Threads(device, alone=len(queries) == 1) as threads:
        excluded = torch.from_numpy(cut.excluded.astype(np.int64).reshape(len(queries), -1)).to(device)
        whole = Chunk(matrix, documents, excluded, similarity, threads)

        def search(halvings: int) -> Hits:
            chunk = replace(whole, halvings=halvings, kept=[])
            near = find_candidates(chunk, cut.k)
            if near is None:
                raise _not_finite(chunk)
            hits = score_candidates(chunk, near.query, near.row)
            lists = [hits, *_score_crowded(chunk, near.crowded, near.least, cut)]
            return merge_sorted(lists, cut, len(matrix), threads)

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
        nothing = torch.full((len(queries), 1), -1, device=device)
        chunk = Chunk(prepare(queries, similarity, device), documents, nothing, similarity, threads)
        query, row = (torch.from_numpy(each).to(device) for each in pairs)
        hits = within_memory(lambda halvings: score_candidates(replace(chunk, halvings=halvings), query, row), device)
        if not np.isfinite(hits[2]).all():
            raise _not_finite(chunk)
    return cut.first_of([hits])


def _not_finite(chunk: Chunk) -> DataError:
    """Return the error for vectors whose dot products cannot be computed in float32."""
    todo = "; encode them again, in precision float32 if it was a lower one"
    blocks = ((block.start, block.vectors) for block in chunk.blocks())
    for start, vectors in chain([(0, chunk.queries)], blocks):
        finite = vectors.isfinite().all(dim=1)
        if not bool(finite.all()):
            whose = "queries'" if vectors is chunk.queries else "documents'"
            row = start + int(finite.int().argmin())
            return DataError(f"the {whose} vectors hold infinity or not-a-number, first in row {row}{todo}")
    return DataError("the vectors are so long that their dot products overflow float32; use the cosine, or another model")


def score_candidates(chunk: Chunk, query: torch.Tensor, row: torch.Tensor) -> Hits:
    """Score pairs of query and document exactly, in their order; the chunk is read once.

    ``query``, ascending, is int64 and ``row`` any integers of shape (pairs,).
    """
    order, counts = by_block(row, chunk.starts)
    queries, rows = (torch.split(numbers.index_select(0, order), counts) for numbers in (query, row))
    parts = [
        exact_scores(chunk, block, norms, some, of.long() - start)
        for (start, block, norms, *_), some, of in zip(chunk.blocks(), queries, rows, strict=True)
    ]
    scores = torch.empty(len(row), device=row.device).index_copy_(0, order, torch.cat(parts))
    return _hits(query, row, scores)


def _score_crowded(chunk: Chunk, crowded: torch.Tensor, least: torch.Tensor, cut: Cut) -> list[Hits]:
    """Rank exactly, a few at a time, queries with more documents about the k-th score than the shortlist has room for."""
    if not len(crowded):
        return []
    groups = torch.split(crowded, max(1, CROWDED_PAIRS // min(len(chunk.documents), chunk.sizes.documents)))
    best = [no_hits() for _ in groups]
    for start, block, norms, *_ in chunk.blocks():
        for group, queries in enumerate(groups):
            scores = chunk.scores(queries, start, block)
            place, column = ((scores >= least[queries, None]) & (scores > -torch.inf)).nonzero(as_tuple=True)
            exact = exact_scores(chunk, block, norms, queries[place], column)
            hits = _hits(queries[place], column + start, exact)
            best[group] = cut.first_of([best[group], hits])
    return best


def _hits(query: torch.Tensor, row: torch.Tensor, score: torch.Tensor) -> Hits:
    return query.int().cpu().numpy(), row.int().cpu().numpy(), score.cpu().numpy()
