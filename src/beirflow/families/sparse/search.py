"""Exact search of the weights of a chunk: products of query and document weights, summed in the order of the terms.

A product of two float32 is exact in double, and so is every sum of integers; the sum is rounded to float32 once. A score depends
on the query and the document alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from beirflow.core.background import map_ahead, read_ahead
from beirflow.core.records import Job
from beirflow.families.postings.search import NO_HIT, Lists, WantedLists, hits_of, search_lists, slices_of
from beirflow.families.sparse.files import SEGMENT_POSTINGS, Rows, Segment, read_queries, read_segments
from beirflow.families.sparse.settings import SparseSettings
from beirflow.ranking.chunk_search import OpenedChunk, SearchedFiles, SearchRequest, search_one_chunk
from beirflow.ranking.ranking import Cut, Hits
from beirflow.ranking.searched import Ids, check_precision, check_rows, read_expansion, read_searched

TURNED_POSTINGS = 1 << 20  # postings that a thread reverses at a time


class Backward(NamedTuple):
    """A segment as a search reads it: from its last posting to its first, with weights in double."""

    terms: np.ndarray  # the terms, ascending, int32 of shape (t,)
    starts: np.ndarray  # first posting of each term in the segment itself, and p, int64 of shape (t + 1,)
    lists: Lists  # the postings, a list for each term

    @classmethod
    def of(cls, segment: Segment) -> Self:
        """Reverse a segment."""
        lists = Lists(segment.documents, segment.rows[::-1].astype(np.int32), segment.weights[::-1].astype(np.float64))
        return cls(segment.terms, segment.starts, lists)


def turned_round(segments: Iterable[Segment], threads: int) -> Iterator[Backward]:
    """Reverse segments, each in the memory of the one before, which stays valid until the next one is requested."""
    rows, values = np.empty(0, np.int32), np.empty(0)
    for segment in segments:
        size = len(segment.rows)
        if size > len(rows):
            room = max(size, SEGMENT_POSTINGS)  # memory that is never written costs nothing
            rows, values = np.empty(room, np.int32), np.empty(room)
        lists = Lists(segment.documents, rows[:size], values[:size])
        parts = [slice(first, first + TURNED_POSTINGS) for first in range(0, size, TURNED_POSTINGS)]
        for _ in map_ahead(partial(_turn_round, segment, lists), parts, threads):
            pass
        yield Backward(segment.terms, segment.starts, lists)


def _turn_round(segment: Segment, into: Lists, part: slice) -> None:
    into.rows[part] = segment.rows[::-1][part]
    into.values[part] = segment.weights[::-1][part]


def lists_of(queries: Rows, segment: Backward) -> WantedLists:
    """Return the lists of each query's terms in their order, with the terms' weights; empty for terms that the segment lacks."""
    first = np.searchsorted(segment.terms, queries.terms)
    behind = np.searchsorted(segment.terms, queries.terms, side="right")
    # The lists run from the last posting to the first, so that places count from the end.
    spans = segment.starts[-1] - segment.starts[np.stack([behind, first], axis=1)]
    return WantedLists(spans, queries.weights.astype(np.float64), queries.starts)


def search_segments(queries: Rows, segments: Iterable[Backward], cut: Cut, threads: int = 1) -> tuple[Hits, int]:
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
        best[own], left_out = search_lists(segment.lists, first, wanted, some, cut, best[own])
        return left_out

    for segment in segments:
        wanted = lists_of(queries, segment)
        self_matches += sum(map_ahead(search, slices, threads))
        first += segment.lists.documents
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
            segments = turned_round(read_ahead(read_segments(chunk_weights_path, settings.quantize)), threads)
            return search_segments(queries, segments, ids.cut(request.top_k, settings.ties), threads)

        check_rows(chunk_weights_path, of_chunk["rows"], len(ids.documents), "weigh")
        return OpenedChunk(search)

    search_one_chunk(request, job, SearchedFiles(records, expansions), open_chunk, ties=settings.ties)
