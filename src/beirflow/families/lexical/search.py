"""Exact search of the postings of a chunk, which are read part by part while they are scored.

Every document that has a term of the query is scored: scores of terms in float32, added in double in the order of the terms. So
a score depends on the query, the document and the statistics alone, not on the chunk, the block or the number of threads.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from beirflow.core.background import map_ahead
from beirflow.families.lexical.bm25 import length_codes, scores
from beirflow.families.lexical.postings import Part, Postings, PostingsFile
from beirflow.families.lexical.queries import AnalyzedQueries, ScoredField
from beirflow.families.lexical.statistics import places_in_order
from beirflow.families.postings.search import NO_HIT, Lists, WantedLists, hits_of, search_lists, slices_of
from beirflow.ranking.ranking import Cut, Hits, no_hits

BLOCK_POSTINGS = 1 << 25  # number of postings that are scored for a block of queries and kept until it is done, 12 bytes each
SLICE_POSTINGS = 1 << 16  # number of postings of a part that are scored at a time

MATCH = float(np.finfo(np.float64).tiny)
"""Score of a term whose score rounds to 0: no sum changes, but the document has been found."""


def search_postings(
    queries: AnalyzedQueries,
    fields: Sequence[ScoredField],
    postings: PostingsFile,
    cut: Cut,
    *,
    threads: int = 1,
    inverse_norms: Sequence[np.ndarray] | None = None,
) -> tuple[Hits, int]:
    """Find the best documents of each query, among those that have one of its terms.

    Args:
        queries: The queries.
        fields: Weights of their terms.
        postings: The chunk.
        cut: Which documents are kept.
        threads: Threads to compute with.
        inverse_norms: Those of :func:`inverse_norms_of`, where the same postings are searched again and again.

    Returns:
        Number of the query and row of the document, int32, and score, float32, of every hit, sorted by query, score and the
        order of ties; and how many documents have a term of the query, but were left out.
    """
    places = places_in_order(queries.terms, postings.head.terms)[queries.pair_terms]
    chunk = _Chunk(queries, fields, postings, places, inverse_norms or inverse_norms_of(fields, postings.head))
    parts = [no_hits()]
    self_matches = 0
    for block in chunk.blocks():
        for hits, left_out in _search_block(chunk, block, cut, threads):
            parts.append(hits)
            self_matches += left_out
    query, row, score = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return (query, row, score), self_matches


def inverse_norms_of(fields: Sequence[ScoredField], documents: Postings) -> list[np.ndarray]:
    """Return for each field the factors of the counts of each document, float32 of shape (documents,)."""
    titles, texts = documents.title_lengths, documents.text_lengths
    lengths = {"contents": titles + texts, "title": titles, "text": texts}
    return [field.inverse_norms[length_codes(lengths[field.name])] for field in fields]


@dataclass(frozen=True)
class _Chunk:
    """Queries and the chunk that they search."""

    queries: AnalyzedQueries
    fields: Sequence[ScoredField]
    postings: PostingsFile
    places: np.ndarray  # place of the term of each pair among the chunk's terms, or -1; int64 of shape (p,)
    inverse_norms: Sequence[np.ndarray]  # for each field, factors of each document's counts, float32 of shape (documents,)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of postings of each pair, int64 of shape (p,)."""
        sizes = np.zeros(len(self.places), np.int64)
        present = self.places >= 0
        sizes[present] = self.postings.head.frequencies[self.places[present]]
        return sizes

    @cached_property
    def firsts(self) -> np.ndarray:
        """Place of the first posting of each pair, int64 of shape (p,); where the chunk does not have the term, any."""
        return self.postings.head.starts[self.places]

    def pairs_of(self, query: int) -> np.ndarray:
        return self.queries.pairs[self.queries.starts[query] : self.queries.starts[query + 1]]

    def blocks(self) -> Iterator[list[int]]:
        """Yield numbers of queries, as many at once as :data:`BLOCK_POSTINGS` allows, but at least one."""
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


def _search_block(chunk: _Chunk, block: Sequence[int], cut: Cut, threads: int) -> Iterator[tuple[Hits, int]]:
    """Yield the hits of some queries of a block at a time, sorted by query and rank; and how many documents were left out."""
    lists, spans = _score(chunk, block, threads)
    wanted = WantedLists(spans[chunk.queries.pairs], np.ones(len(chunk.queries.pairs)), chunk.queries.starts)

    def search(some: Sequence[int]) -> tuple[Hits, int]:
        best, left_out = search_lists(lists, 0, wanted, some, cut, [NO_HIT] * len(some))
        return hits_of(some, best), left_out

    yield from map_ahead(search, slices_of(block), threads)


def _score(chunk: _Chunk, block: Sequence[int], threads: int) -> tuple[Lists, np.ndarray]:
    """Score all postings that the queries of a block need, each once: lists of pairs, and the span of each pair."""
    sizes = np.zeros(len(chunk.sizes), np.int64)
    needed = np.concatenate([chunk.pairs_of(query) for query in block])
    sizes[needed] = chunk.sizes[needed]
    ends = np.cumsum(sizes)
    starts = ends - sizes
    lists = Lists(len(chunk.postings.head.text_lengths), np.empty(sizes.sum(), np.int32), np.empty(sizes.sum()))

    def score_part(pairs: np.ndarray) -> None:
        number = int(part_of[pairs[0]])
        part, begin = chunk.postings.part(number), chunk.postings.part_starts[number]
        for some in _split(pairs, starts[pairs] // SLICE_POSTINGS):
            place = slice(starts[some[0]], ends[some[-1]])
            _score_pairs(chunk, some, part, chunk.firsts[some] - begin, lists.rows[place], lists.values[place])

    # Pairs are in the order of their terms, as postings are.
    pairs = np.flatnonzero(sizes)
    part_of = np.searchsorted(chunk.postings.part_starts, chunk.firsts, side="right") - 1
    for _ in map_ahead(score_part, _split(pairs, part_of[pairs]), threads):
        pass
    return lists, np.stack([starts, ends], axis=1)


def _split(pairs: np.ndarray, by: np.ndarray) -> list[np.ndarray]:
    """Split pairs where a value that neighbours share changes."""
    return np.split(pairs, np.flatnonzero(np.diff(by)) + 1) if len(pairs) else []


def _score_pairs(chunk: _Chunk, pairs: np.ndarray, part: Part, firsts: np.ndarray, rows: np.ndarray, total: np.ndarray) -> None:
    """Write rows and scores of the postings of some pairs, which begin at places of a part, one pair after the other."""
    sizes = chunk.sizes[pairs]
    spans = [slice(first, last) for first, last in zip(firsts.tolist(), (firsts + sizes).tolist(), strict=True)]
    np.concatenate([part.rows[span] for span in spans], out=rows)
    title_counts, text_counts = (np.concatenate([of[span] for span in spans]) for of in (part.title_counts, part.text_counts))
    for number, (field, inverse_norms) in enumerate(zip(chunk.fields, chunk.inverse_norms, strict=True)):
        if field.name == "contents":
            counts = np.add(title_counts, text_counts, dtype=np.uint32)
        elif field.name == "title":
            counts = title_counts * chunk.postings.head.text_filled[rows]  # without text a document is in no index
        else:
            counts = text_counts
        in_field = scores(np.repeat(field.weights[pairs], sizes), counts, inverse_norms[rows])
        # The first field's scores are written where the sum is kept, without a pass that adds them to zeros.
        in_field = np.maximum(in_field, MATCH, dtype=np.float64, out=None if number else total)
        if field.name != "contents":
            in_field[counts == 0] = 0
        if number:
            total += in_field
