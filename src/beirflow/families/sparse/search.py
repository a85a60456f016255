"""Exact search of the weights of a chunk: products of query and document weights, added in the order of the terms.

A product of two float32 is exact in float64, and so is every sum of integers; the sum is rounded to float32 once.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from beirflow.core.artifact import Made, step
from beirflow.core.background import read_ahead
from beirflow.data.corpus_files import Documents, Queries
from beirflow.families.expansions.files import ExpansionRecord
from beirflow.families.postings.search import Lists, QueryLists, search_lists
from beirflow.families.sparse.files import ChunkWeights, QueryWeights, Rows, Segment, read_queries, read_segments
from beirflow.families.sparse.settings import SparseSettings
from beirflow.models.model_record import ModelRecord
from beirflow.ranking.candidates import Candidates, sources_of
from beirflow.ranking.ranking import Cut, Hits
from beirflow.ranking.searched import Retrieval, check_precision, check_rows, read_ids


class Weights(NamedTuple):
    """Weights that a search reads, and records of what made them."""

    query_weights: QueryWeights
    chunk_weights: ChunkWeights
    model: ModelRecord
    expansion: ExpansionRecord | None


def search_segments(queries: Rows, segments: Iterable[Segment], cut: Cut) -> tuple[Hits, Hits]:
    """Find the best documents of each query, among those that have one of its terms, by the weights of both.

    Returns hits and excluded documents, as :func:`~beirflow.families.postings.search.search_lists` does.
    """

    def lists_of(segment: Segment) -> tuple[Lists, QueryLists]:
        """Return the postings of a segment and their spans by query term."""
        begins, ends = (segment.starts[np.searchsorted(segment.terms, queries.terms, side)] for side in ("left", "right"))
        spans = np.stack([begins, ends], axis=1)  # empty for a term that the segment lacks
        weights = queries.weights.astype(np.float64)
        return Lists(segment.documents, segment.rows, segment.weights), QueryLists(spans, weights, queries.starts)

    return search_lists(map(lists_of, segments), len(queries.counts), cut, _products)


def _products(values: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return the products of n weights of documents and queries, float64 of shape (n,), in the memory of ``factors``."""
    return np.multiply(values, factors, out=factors)


@step(Candidates, stage="search", ancestors=None, same=("system",))
def search_weights(
    queries: Queries, documents: Documents, weights: Weights, settings: SparseSettings, retrieval: Retrieval
) -> Made:
    """Find the top k of one chunk for every query, among the documents that have one of its terms.

    Of the expansion that was added to the documents only the record is read, for what it cost. Raises DataError if weights are
    not those of these texts, or not of one precision.
    """
    query_weights, chunk_weights, _, expansion = weights
    check_precision((query_weights, chunk_weights), "weigh")
    ids = read_ids(queries, documents, int(chunk_weights.names["chunk"]), drop_self_matches=retrieval.drop_self_matches)
    check_rows(str(chunk_weights.path), chunk_weights.record["rows"], len(ids.documents), "weigh")
    of_queries = read_queries(query_weights.path, settings.quantize)
    check_rows(str(query_weights.path), len(of_queries.counts), len(ids.queries), "weigh")
    segments = read_ahead(read_segments(chunk_weights.path, settings.quantize))
    hits, dropped = search_segments(of_queries, segments, ids.cut(retrieval.top_k, settings.ties))
    sources = sources_of([query_weights, chunk_weights, *([expansion] if expansion else [])])
    return Made(hits, made={}, **ids.dropped(dropped), sources=sources, top_k=retrieval.top_k, ties=settings.ties)
