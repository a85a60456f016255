"""Exact search of the weights of a chunk: products of query and document weights, summed in the order of the terms.

A product of two float32 is exact in double, and so is every sum of integers; the sum is rounded to float32 once. A score depends
on the query and the document alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from beirflow.core.artifact import Made, step
from beirflow.core.background import map_ahead, read_ahead
from beirflow.data.corpus_files import Documents, Queries
from beirflow.families.expansions.files import ExpansionRecord
from beirflow.families.postings.search import NO_HIT, Lists, WantedLists, hits_of, search_lists, slices_of
from beirflow.families.sparse.files import ChunkWeights, QueryWeights, Rows, Segment, read_queries, read_segments
from beirflow.families.sparse.settings import SparseSettings
from beirflow.models.model_record import ModelRecord
from beirflow.ranking.candidates import Candidates, sources_of
from beirflow.ranking.ranking import Cut, Hits
from beirflow.ranking.searched import Retrieval, check_precision, check_rows, read_ids


@dataclass(frozen=True)
class Weights:
    """The weights that a search reads, and the records of what made them; that of the expansion for its cost."""

    query_weights: QueryWeights
    chunk_weights: ChunkWeights
    model: ModelRecord
    expansion: ExpansionRecord | None


def lists_of(queries: Rows, segment: Segment) -> WantedLists:
    """Return the lists of each query's terms in their order, with the terms' weights; empty for terms that the segment lacks."""
    first = np.searchsorted(segment.terms, queries.terms)
    behind = np.searchsorted(segment.terms, queries.terms, side="right")
    spans = segment.starts[np.stack([first, behind], axis=1)]
    return WantedLists(spans, queries.weights.astype(np.float64), queries.starts)


def search_segments(queries: Rows, segments: Iterable[Segment], cut: Cut, threads: int = 1) -> tuple[Hits, int]:
    """Find the best documents of each query, among those that have one of its terms, by the weights of both.

    Returns number of the query and row of the document, int32, and score, float32, of every hit, sorted by query, score and the
    order of ties; and the number of documents that have a term of the query, but were left out.
    """
    slices = slices_of(range(len(queries.counts)))
    best = [NO_HIT] * len(queries.counts)
    first = self_matches = 0

    def search(some: Sequence[int]) -> int:
        """Search a segment for some queries; gives how many documents were left out."""
        own = slice(some[0], some[-1] + 1)
        best[own], left_out = search_lists(lists, first, wanted, some, cut, best[own])
        return left_out

    for segment in segments:
        lists = Lists(segment.documents, segment.rows, segment.weights)
        wanted = lists_of(queries, segment)
        self_matches += sum(map_ahead(search, slices, threads))
        first += segment.documents
    return hits_of(range(len(best)), best), self_matches


@step(Candidates, stage="search", ancestors=None, same=("system",))
def search_weights(
    queries: Queries, documents: Documents, weights: Weights, settings: SparseSettings, retrieval: Retrieval, threads: int = 1
) -> Made:
    """Find the top k of one chunk for every query, among the documents that have one of its terms.

    Raises DataError if weights are not those of these texts, or not of one precision.
    """
    of_queries, of_chunk, drop = weights.query_weights, weights.chunk_weights, retrieval.drop_self_matches
    check_precision((of_queries, of_chunk), "weigh")
    ids = read_ids(queries, documents, int(of_chunk.names["chunk"]), drop_self_matches=drop)
    check_rows(str(of_chunk.path), of_chunk.record["rows"], len(ids.documents), "weigh")
    asked = read_queries(of_queries.path, settings.quantize)
    check_rows(str(of_queries.path), len(asked.counts), len(ids.queries), "weigh")
    segments = read_ahead(read_segments(of_chunk.path, settings.quantize))
    hits, self_matches = search_segments(asked, segments, ids.cut(retrieval.top_k, settings.ties), threads)
    searched = [of_queries, of_chunk, *([weights.expansion] if weights.expansion else [])]
    counts = {"self_matches_dropped": self_matches}
    return Made(hits, made={}, counts=counts, sources=sources_of(searched), top_k=retrieval.top_k, ties=settings.ties)
