"""Exact search of the postings of a chunk.

Every document that has a term of the query is scored: scores of terms in float32, added in double in the order of the terms. So
a score depends on the query, the document and the statistics alone, not on the chunk, the block or the number of threads.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from beirflow.files.background import map_ahead
from beirflow.lexical.bm25 import length_codes, scores
from beirflow.lexical.postings import Postings, places_of
from beirflow.lexical.queries import AnalyzedQueries, ScoredField
from beirflow.runs.ranking import Hits, Ties, byte_order, merge_hits

BLOCK_POSTINGS = 1 << 25
"""Postings that are scored for a block of queries and kept until it is done, 16 bytes each."""

SLICE_POSTINGS = 1 << 19
"""Postings that a thread scores at a time."""

SLICE_QUERIES = 32
"""Queries that a thread searches at a time."""

SPARSE = 32
"""A query with fewer postings than this part of the chunk's documents is not spread over all of them."""

MATCH = float(np.finfo(np.float64).tiny)
"""Added up for a term whose score rounds to 0: no sum changes, but the document has been found."""

SEARCHED = (
    "terms", "frequencies", "rows", "title_counts", "text_counts", "title_lengths", "text_lengths", "text_filled",
)  # fmt: skip
"""What a search reads of the postings."""


def search_postings(
    queries: AnalyzedQueries,
    fields: Sequence[ScoredField],
    postings: Postings,
    doc_ids: pa.Array,
    k: int,
    *,
    excluded: np.ndarray,
    ties: Ties = "ascending",
    threads: int = 1,
) -> tuple[Hits, int]:
    """The k best documents of each query by the ranking rule, among those that have one of its terms.

    Args:
        queries: The queries.
        fields: What their terms weigh.
        postings: The chunk, with :data:`SEARCHED`.
        doc_ids: Ids of the documents of the chunk, strings of shape (documents,).
        k: Documents to keep for each query.
        excluded: For each query the row of a document that is left out, or -1; shape (queries,).
        ties: How ties are ordered; Lucene's ascend.
        threads: Threads to compute with.

    Returns:
        Number of the query and row of the document, int32, and score, float32, of every hit, sorted by query and rank; and how
        many documents have a term of the query, but were left out.
    """
    chunk = _Chunk(queries, fields, postings, doc_ids, ties)
    _ = chunk.id_order, chunk.inverse_norms  # made once, before several threads ask for them
    parts: list[Hits] = []
    self_matches = 0
    for block in chunk.blocks():
        scored = _score(chunk, block, k, threads)
        slices = [block[start : start + SLICE_QUERIES] for start in range(0, len(block), SLICE_QUERIES)]
        for hits, left_out in map_ahead(partial(_search, scored, excluded, k), slices, threads):
            parts.append(hits)
            self_matches += left_out
    if not parts:
        return (np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)), 0
    query, row, score = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return (query, row, score), self_matches


@dataclass(frozen=True)
class _Chunk:
    """What is searched for and in what."""

    queries: AnalyzedQueries
    fields: Sequence[ScoredField]
    postings: Postings
    doc_ids: pa.Array
    ties: Ties

    @cached_property
    def places(self) -> np.ndarray:
        """Place of the term of each pair among the chunk's terms, or -1; int64 of shape (p,)."""
        return places_of(self.queries.terms, self.postings.terms)[self.queries.pair_terms]

    @cached_property
    def sizes(self) -> np.ndarray:
        """Postings of each pair, int64 of shape (p,)."""
        sizes = np.zeros(len(self.places), np.int64)
        present = self.places >= 0
        sizes[present] = self.postings.frequencies[self.places[present]]
        return sizes

    @cached_property
    def id_order(self) -> np.ndarray:
        """Place of each document's id in the order of ties, int64 of shape (documents,)."""
        return byte_order(self.doc_ids, self.ties)

    @cached_property
    def inverse_norms(self) -> list[np.ndarray]:
        """What each document's counts in each field are multiplied by, float32 of shape (documents,)."""
        titles, texts = self.postings.title_lengths, self.postings.text_lengths
        lengths = {"contents": titles + texts, "title": titles, "text": texts}
        return [field.inverse_norms[length_codes(lengths[field.name])] for field in self.fields]

    def counts(self, name: str, spans: list[slice], rows: np.ndarray) -> np.ndarray:
        """How often a field has the term, for the postings of some spans and their rows."""
        title_counts, text_counts = (_joined(of, spans) for of in (self.postings.title_counts, self.postings.text_counts))
        if name == "text":
            return text_counts
        if name == "title":
            return title_counts * self.postings.text_filled[rows]  # without text a document is in no index
        return np.add(title_counts, text_counts, dtype=np.uint32)

    def pairs_of(self, query: int) -> np.ndarray:
        """The pairs of a query."""
        return self.queries.pairs[self.queries.starts[query] : self.queries.starts[query + 1]]

    def blocks(self) -> Iterator[list[int]]:
        """Numbers of queries, as many at once as :data:`BLOCK_POSTINGS` allows, but at least one."""
        block: list[int] = []
        seen: set[int] = set()
        size = 0
        for query in range(len(self.queries.starts) - 1):
            new = set(self.pairs_of(query).tolist()) - seen
            more = int(self.sizes[list(new)].sum())
            if block and size + more > BLOCK_POSTINGS:
                yield block
                block, seen, size = [], set(), 0
                new = set(self.pairs_of(query).tolist())
                more = int(self.sizes[list(new)].sum())
            block.append(query)
            seen |= new
            size += more
        if block:
            yield block


class _Scored(NamedTuple):
    """The scored postings of the pairs of a block.

    Attributes:
        chunk: The chunk.
        rows: int64 of shape (postings,), pair after pair.
        scores: In all fields together, float64 of shape (postings,).
        spans: Where the postings of each pair of the queries begin and end, int64 of shape (p, 2); 0 and 0 for the others.
        bounds: The score that at least k documents other than the excluded one reach by a pair alone, float64 of shape (p,); 0
            if there are fewer.
    """

    chunk: _Chunk
    rows: np.ndarray
    scores: np.ndarray
    spans: np.ndarray
    bounds: np.ndarray


def _score(chunk: _Chunk, block: list[int], k: int, threads: int) -> _Scored:
    """Score all postings that the queries of a block need, each once."""
    pairs = np.unique(np.concatenate([chunk.pairs_of(query) for query in block]))
    pairs = pairs[chunk.sizes[pairs] > 0]
    ends = np.cumsum(chunk.sizes[pairs])
    starts = ends - chunk.sizes[pairs]
    spans = np.zeros((len(chunk.sizes), 2), np.int64)
    spans[pairs] = np.stack([starts, ends], axis=1)
    total = int(ends[-1]) if len(ends) else 0
    rows, found = np.empty(total, np.int64), np.empty(total, np.float64)
    bounds = np.zeros(len(chunk.sizes))

    def score_some(some: np.ndarray) -> None:
        begin, end = spans[some[0], 0], spans[some[-1], 1]
        rows[begin:end], found[begin:end] = _score_pairs(chunk, some)
        for pair in some[chunk.sizes[some] > k].tolist():
            own = found[slice(*spans[pair])]
            bounds[pair] = np.partition(own, len(own) - k - 1)[len(own) - k - 1]

    groups = np.split(pairs, np.flatnonzero(np.diff(starts // SLICE_POSTINGS)) + 1) if len(pairs) else []
    for _ in map_ahead(score_some, groups, threads):
        pass
    return _Scored(chunk, rows, found, spans, bounds)


def _score_pairs(chunk: _Chunk, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and scores of the postings of some pairs, one pair after the other."""
    sizes = chunk.sizes[pairs]
    firsts = chunk.postings.starts[chunk.places[pairs]]
    spans = [slice(first, last) for first, last in zip(firsts.tolist(), (firsts + sizes).tolist(), strict=True)]
    rows = _joined(chunk.postings.rows, spans)
    total = np.zeros(len(rows))
    for field, inverse_norms in zip(chunk.fields, chunk.inverse_norms, strict=True):
        counts = chunk.counts(field.name, spans, rows)
        in_field = scores(np.repeat(field.weights[pairs], sizes), counts, inverse_norms[rows])
        in_field = np.maximum(in_field, MATCH, dtype=np.float64)
        total += in_field if field.name == "contents" else np.where(counts, in_field, 0)
    return rows, total


def _joined(column: np.ndarray, spans: list[slice]) -> np.ndarray:
    return np.concatenate([column[span] for span in spans])


def _search(scored: _Scored, excluded: np.ndarray, k: int, queries: list[int]) -> tuple[Hits, int]:
    """Hits of some queries, sorted by query and rank; and how many excluded documents have a term."""
    found = [_search_one(scored, query, int(excluded[query]), k) for query in queries]
    parts = [(np.full(len(rows), query, np.int32), rows, values) for query, (rows, values, _) in zip(queries, found, strict=True)]
    query, row, score, _ = merge_hits(parts, lambda rows: scored.chunk.id_order[rows], k)
    return (query, row.astype(np.int32), score), sum(left_out for *_, left_out in found)


def _search_one(scored: _Scored, query: int, excluded: int, k: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Rows and scores of the k best documents, in no order; and whether the excluded one has a term of the query."""
    pairs = scored.chunk.pairs_of(query)
    pairs = pairs[scored.spans[pairs, 1] > 0]
    if not len(pairs):
        return np.empty(0, np.int64), np.empty(0, np.float32), False
    rows, sums = _add_up(scored, pairs)
    own = _place_of(excluded, rows, sums)
    if own is not None:
        sums[own] = 0
    # What rounds to the float32 below the bound, or less, is not among the k best.
    least = np.nextafter(np.float32(scored.bounds[pairs].max()), np.float32(-np.inf))
    near = np.flatnonzero(sums > max(least, 0))
    rows, values = (near if rows is None else rows[near]), sums[near].astype(np.float32)
    kept = _best(rows, values, k, scored.chunk)
    return rows[kept], values[kept], own is not None


def _place_of(row: int, rows: np.ndarray | None, sums: np.ndarray) -> int | None:
    """Where the sum of a document is; None if no pair matches it, or row is -1."""
    place = row if rows is None else int(np.searchsorted(rows, row))
    is_there = row >= 0 and place < len(sums) and (rows is None or rows[place] == row)
    return place if is_there and sums[place] > 0 else None


def _add_up(scored: _Scored, pairs: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Sums of the scores of documents, in the order of the pairs: ascending rows, None for all; and sums, 0 for no match."""
    spans = [slice(start, end) for start, end in scored.spans[pairs].tolist()]
    if len(spans) == 1:
        return scored.rows[spans[0]], scored.scores[spans[0]].copy()  # other queries have the pair too
    rows, found = _joined(scored.rows, spans), _joined(scored.scores, spans)
    documents = len(scored.chunk.doc_ids)
    if len(rows) * SPARSE > documents:
        return None, np.bincount(rows, found, documents)
    rows, place = np.unique(rows, return_inverse=True)
    return rows, np.bincount(place, found, len(rows))


def _best(rows: np.ndarray, values: np.ndarray, k: int, chunk: _Chunk) -> np.ndarray:
    """Indices of the k best, ties included by the ids of the documents."""
    if len(rows) <= k:
        return np.arange(len(rows))
    last = np.partition(values, len(values) - k)[len(values) - k]
    above, tied = np.flatnonzero(values > last), np.flatnonzero(values == last)
    room = k - len(above)
    if len(tied) > room:
        order = chunk.id_order[rows[tied]]
        tied = tied[np.argpartition(order, len(order) - room)[len(order) - room :]]
    return np.concatenate([above, tied])
