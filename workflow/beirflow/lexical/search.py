"""Exact search of the postings of a chunk.

Every document that has a term of the query is scored: scores of terms in float32, added in double in the order of the terms. So
a score depends on the query, the document and the statistics alone, not on the chunk, the block or the number of threads.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from beirflow.files.background import map_ahead
from beirflow.lexical.bm25 import length_codes, scores
from beirflow.lexical.postings import Postings, places_in_order, places_of
from beirflow.lexical.queries import AnalyzedQueries, ScoredField
from beirflow.postings.search import Cut, Lists, WantedLists, search_lists
from beirflow.runs.ranking import Hits, Ties, byte_order

BLOCK_POSTINGS = 1 << 25
"""Postings that are scored for a block of queries and kept until it is done, 16 bytes each."""

SLICE_POSTINGS = 1 << 19
"""Postings that a thread scores at a time."""

MATCH = float(np.finfo(np.float64).tiny)
"""Added up for a term whose score rounds to 0: no sum changes, but the document has been found."""

SEARCHED = (
    "terms", "frequencies", "rows", "title_counts", "text_counts", "title_lengths", "text_lengths", "text_filled",
)  # fmt: skip
"""What a search reads of the postings."""


class Held(NamedTuple):
    """What does not depend on the queries, for what searches the same postings again and again for a few terms each time.

    Attributes:
        id_order: Place of each document's id in the order of ties, int64 of shape (documents,).
        inverse_norms: For each field, what the counts of each document are multiplied by, float32 of shape (documents,).
    """

    id_order: np.ndarray
    inverse_norms: Sequence[np.ndarray]


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
    held: Held | None = None,
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
        held: What is known already of these fields, postings and ids.

    Returns:
        Number of the query and row of the document, int32, and score, float32, of every hit, sorted by query and rank; and how
        many documents have a term of the query, but were left out.
    """
    chunk = _Chunk(queries, fields, postings, doc_ids, ties, held)
    _ = chunk.id_order, chunk.inverse_norms  # made once, before several threads ask for them
    parts: list[Hits] = []
    self_matches = 0
    wanted = WantedLists(queries.pairs, queries.starts)
    cut = Cut(k, chunk.id_order, excluded, np.full(len(queries.starts) - 1, -np.inf, np.float32))
    for block in chunk.blocks():
        for hits, left_out in search_lists(_score(chunk, block, k, threads), wanted, block, cut, threads):
            parts.append(hits)
            self_matches += left_out
    if not parts:
        return (np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)), 0
    query, row, score = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return (query, row, score), self_matches


def inverse_norms_of(fields: Sequence[ScoredField], postings: Postings) -> list[np.ndarray]:
    """What the counts of each document are multiplied by.

    Args:
        fields: The fields that are scored.
        postings: The lengths of the documents.

    Returns:
        For each field float32 of shape (documents,).
    """
    titles, texts = postings.title_lengths, postings.text_lengths
    lengths = {"contents": titles + texts, "title": titles, "text": texts}
    return [field.inverse_norms[length_codes(lengths[field.name])] for field in fields]


@dataclass(frozen=True)
class _Chunk:
    """What is searched for and in what."""

    queries: AnalyzedQueries
    fields: Sequence[ScoredField]
    postings: Postings
    doc_ids: pa.Array
    ties: Ties
    held: Held | None = None

    @cached_property
    def places(self) -> np.ndarray:
        """Place of the term of each pair among the chunk's terms, or -1; int64 of shape (p,)."""
        find = places_in_order if self.held else places_of
        return find(self.queries.terms, self.postings.terms)[self.queries.pair_terms]

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
        return self.held.id_order if self.held else byte_order(self.doc_ids, self.ties)

    @cached_property
    def inverse_norms(self) -> Sequence[np.ndarray]:
        """What each document's counts in each field are multiplied by, float32 of shape (documents,)."""
        return self.held.inverse_norms if self.held else inverse_norms_of(self.fields, self.postings)

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


def _score(chunk: _Chunk, block: list[int], k: int, threads: int) -> Lists:
    """Score all postings that the queries of a block need, each once: a list for each pair."""
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
    return Lists(rows, found, spans, bounds, len(chunk.doc_ids))


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
