"""Fused runs, some queries at a time: the weighted contributions of every run, summed and ranked."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.fusion.contributions import contributions
from beirflow.fusion.settings import FusionSettings
from beirflow.runs.ranking import rank_hits

QUERIES = 512
"""Fused at once; a thousand documents of each in three runs are some 100 MB."""

Rows = tuple[pa.Array, pa.Array, np.ndarray, np.ndarray]
"""Ids of queries and documents, scores and ranks of some rows of a run."""


class Block(NamedTuple):
    """The documents of some queries, p pairs in s runs.

    Attributes:
        query_ids: Ids of all queries.
        doc_ids: Ids of the documents of these.
        query: Number of the query of each pair, int32 of shape (p,), ascending.
        row: Number of its document in ``doc_ids``, int32 of shape (p,).
        values: What each run contributes to it, without its weight, 0 where the run does not have it; float64 of shape (p, s).
    """

    query_ids: pa.Array
    doc_ids: pa.Array
    query: np.ndarray
    row: np.ndarray
    values: np.ndarray


def fused(settings: FusionSettings, runs: Sequence[pa.Table], top_k: int) -> Iterator[Rows]:
    """Fuse runs, some queries at a time.

    Args:
        settings: How, with weights that are stated.
        runs: The runs, sorted by query and rank.
        top_k: Documents to keep for each query.

    Yields:
        Ids of queries and documents, scores and ranks of the next rows.
    """
    for block in blocks(settings, runs):
        yield ranked(block, settings.factors, top_k)


def blocks(settings: FusionSettings, runs: Sequence[pa.Table]) -> Iterator[Block]:
    """Yield the unweighted contributions of runs to their documents.

    Args:
        settings: How runs are fused.
        runs: The runs, sorted by query and rank.

    Yields:
        The next queries.
    """
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
    """Some queries."""
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


def ranked(block: Block, weights: Sequence[float], top_k: int) -> Rows:
    """Weigh, add up and rank.

    Args:
        block: Some queries.
        weights: What the scores of each run are multiplied with.
        top_k: Documents to keep for each query.

    Returns:
        Ids of queries and documents, scores and ranks.
    """
    # Added from the smallest on, so that documents with the same contributions tie whichever run each comes from.
    scores = np.zeros(len(block.row))
    for column in np.sort(block.values * np.array(weights, np.float64), axis=1).T:
        scores += column
    query, row, score, rank = rank_hits([(block.query, block.row, scores.astype(np.float32))], block.doc_ids, top_k)
    return block.query_ids.take(pa.array(query)), block.doc_ids.take(pa.array(row)), score, rank
