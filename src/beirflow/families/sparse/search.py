"""Exact search of the weights of a chunk: products of query and document weights, summed in the order of the terms.

A product of two float32 is exact in double, and so is every sum of integers; the sum is rounded to float32 once. A score depends
on the query and the document alone.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from beirflow.core.background import map_ahead, read_ahead
from beirflow.core.records import Job
from beirflow.families.postings.search import NO_HIT, Lists, WantedLists, hits_of, search_lists, slices_of
from beirflow.families.sparse.files import Rows, Segment, read_queries, read_segments
from beirflow.families.sparse.settings import SparseSettings
from beirflow.ranking.chunk_search import OpenedChunk, SearchedFiles, SearchRequest, search_one_chunk
from beirflow.ranking.ranking import Cut, Hits
from beirflow.ranking.searched import Ids, check_precision, check_rows, read_expansion, read_searched


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


def search_weights(
    *,
    request: SearchRequest,
    settings: SparseSettings,
    model_path: str,
    query_weights_path: str,
    chunk_weights_path: str,
    job: Job,
    expansion_path: str | None = None,
    threads: int = 1,
) -> None:
    """Find the top k of one chunk for every query, among the documents that have one of its terms.

    Only the record of the expansion is read, for its cost.

    Raises DataError if a file is not the one that was recorded, or weights are not those of this system, model and dataset, or
    not of one precision.
    """
    weights_of = {query_weights_path: request.corpus.queries_path, chunk_weights_path: request.corpus.documents_path}
    records = read_searched(weights_of, model_path, job, system=request.system)
    check_precision(records, "weigh")
    of_chunk, expansions = records[chunk_weights_path], {}
    if expansion_path is not None:
        expansions[expansion_path] = read_expansion(expansion_path, chunk_weights_path, of_chunk, job)

    def open_chunk(ids: Ids) -> OpenedChunk:
        def search() -> tuple[Hits, int]:
            queries = read_queries(query_weights_path, settings.quantize)
            check_rows(query_weights_path, len(queries.counts), len(ids.queries), "weigh")
            segments = read_ahead(read_segments(chunk_weights_path, settings.quantize))
            return search_segments(queries, segments, ids.cut(request.top_k, settings.ties), threads)

        check_rows(chunk_weights_path, of_chunk["rows"], len(ids.documents), "weigh")
        return OpenedChunk(search)

    search_one_chunk(request, job, SearchedFiles(records, expansions), open_chunk, ties=settings.ties)
