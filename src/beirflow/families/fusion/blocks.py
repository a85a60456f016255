"""Fused runs, some queries at a time: the weighted contributions of every run, summed and ranked.

The contribution of a run to the score of a document, in float64, as Pyserini and ranx define it, is its reciprocal rank,
1 / (k + rank), or its score, which is multiplied with the weight of the run after that:

- ``none``: the score;
- ``min-max``: (score - lowest) / (highest - lowest) of the query's documents; 1 where all are equal, as Pyserini says (ranx: 0);
- ``z-score``: (score - mean) / standard deviation of the query's documents; 0 where all are equal, as ranx says.

A document that a run does not have gets 0 from it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.families.fusion.settings import FusionSettings
from beirflow.ranking.ranking import rank_hits

DEFAULT_K = 60

QUERIES = 512  # number of queries that are fused at once; a thousand documents of each in three runs are some 100 MB
Rows = tuple[pa.Array, pa.Array, np.ndarray, np.ndarray]  # ids of queries and documents, scores and ranks of some rows of a run


class Block(NamedTuple):
    """The documents of some queries, p pairs in s runs."""

    query_ids: pa.Array  # all queries
    doc_ids: pa.Array  # the documents of these queries
    query: np.ndarray  # number of the query of each pair, int32 of shape (p,), ascending
    row: np.ndarray  # number of its document in doc_ids, int32 of shape (p,)
    values: np.ndarray  # contribution of each run, without its weight, 0 if the run lacks the document; float64 of shape (p, s)


def fused(settings: FusionSettings, runs: Sequence[pa.Table], top_k: int) -> Iterator[Rows]:
    """Fuse runs, sorted by query and rank, with stated weights; yields the rows of some queries at a time."""
    for block in blocks(settings, runs):
        yield ranked(block, settings.factors, top_k)


def blocks(settings: FusionSettings, runs: Sequence[pa.Table]) -> Iterator[Block]:
    """Yield the unweighted contributions of runs, sorted by query and rank, to the documents of some queries at a time."""
    if settings.depth is not None:
        runs = [run.filter(pc.less_equal(run["rank"], settings.depth)) for run in runs]
    query_ids = pc.unique(pa.chunked_array([chunk for run in runs for chunk in run["query_id"].chunks], pa.string()))
    query_ids = query_ids.take(pc.sort_indices(query_ids))
    queries = [pc.index_in(run["query_id"].combine_chunks(), value_set=query_ids).to_numpy() for run in runs]
    for first in range(0, len(query_ids), QUERIES):
        bounds = [np.searchsorted(query, (first, first + QUERIES)) for query in queries]
        parts = [run.slice(begin, end - begin) for run, (begin, end) in zip(runs, bounds, strict=True)]
        numbers = [query[begin:end] for query, (begin, end) in zip(queries, bounds, strict=True)]
        yield _block(settings, parts, numbers, query_ids)


def _block(settings: FusionSettings, parts: Sequence[pa.Table], queries: Sequence[np.ndarray], query_ids: pa.Array) -> Block:
    ids = pa.chunked_array([chunk for part in parts for chunk in part["doc_id"].chunks], pa.string())
    encoded = ids.combine_chunks().dictionary_encode()
    pairs, place = np.unique(np.concatenate(queries).astype(np.int64) << 32 | encoded.indices.to_numpy(), return_inverse=True)
    values, first = np.zeros((len(pairs), len(parts))), 0
    for number, (part, query) in enumerate(zip(parts, queries, strict=True)):
        rows = place[first : first + len(query)]
        values[rows, number] = contributions(settings, query, part["score"].to_numpy(), part["rank"].to_numpy())
        first += len(query)
    query, row = (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32)
    return Block(query_ids, encoded.dictionary, query, row, values)


def contributions(settings: FusionSettings, query: np.ndarray, score: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Return the contributions of one run to n documents, without its weight, float64 of shape (n,).

    ``query``, integers that ascend, number the query of each document; ``score`` is float32, ``rank`` counts from 1.
    """
    if settings.method == "rrf":
        return 1 / ((DEFAULT_K if settings.k is None else settings.k) + rank.astype(np.float64))
    return _normalized(settings.normalize or "none", query, score.astype(np.float64))


def _normalized(how: str, query: np.ndarray, score: np.ndarray) -> np.ndarray:
    if how == "none" or not len(query):
        return score
    starts = np.flatnonzero(np.append(True, query[1:] != query[:-1]))
    counts = np.diff(np.append(starts, len(query)))
    if how == "min-max":
        lowest, highest = (np.repeat(of.reduceat(score, starts), counts) for of in (np.minimum, np.maximum))
        return np.where(highest > lowest, (score - lowest) / np.where(highest > lowest, highest - lowest, 1), 1.0)
    centered = score - np.repeat(np.add.reduceat(score, starts) / counts, counts)
    spread = np.repeat(np.sqrt(np.add.reduceat(centered**2, starts) / counts), counts)
    varies = np.repeat(np.maximum.reduceat(score, starts) > np.minimum.reduceat(score, starts), counts)
    return np.where(varies, centered / np.where(varies, spread, 1), 0.0)


def ranked(block: Block, weights: Sequence[float], top_k: int) -> Rows:
    """Weigh the contributions of each run, add them up, and rank."""
    # Added from the smallest on, so that documents with the same contributions tie whichever run each comes from.
    scores = np.zeros(len(block.row))
    for column in np.sort(block.values * np.array(weights, np.float64), axis=1).T:
        scores += column
    query, row, score, rank = rank_hits([(block.query, block.row, scores.astype(np.float32))], block.doc_ids, top_k)
    return block.query_ids.take(pa.array(query)), block.doc_ids.take(pa.array(row)), score, rank
