"""Exact search of the weights of a chunk: products of the weights of a query and a document, added in the order of the terms.

A product of two float32 is exact in double, and so is every sum of integers; the sum is rounded to float32 once. A score depends
on the query and the document alone.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from beirflow.postings.search import Cut, Lists, WantedLists, search_lists
from beirflow.runs.ranking import Hits, Ties, byte_order, merge_hits
from beirflow.sparse.files import Segment
from beirflow.sparse.rows import Rows

MERGED_HITS = 1 << 22
"""Hits of segments beyond which they are cut to the k best."""


def search_segments(
    queries: Rows,
    segments: Iterable[Segment],
    doc_ids: pa.Array,
    k: int,
    *,
    excluded: np.ndarray,
    ties: Ties = "descending",
    threads: int = 1,
    id_order: np.ndarray | None = None,
) -> tuple[Hits, int]:
    """The k best documents of each query by the ranking rule, among those that have one of its terms.

    Args:
        queries: The weights of the queries.
        segments: The weights of the documents.
        doc_ids: Ids of the documents of the chunk, strings of shape (documents,).
        k: Documents to keep for each query.
        excluded: For each query the row of a document that is left out, or -1; shape (queries,).
        ties: How ties are ordered.
        threads: Threads to compute with.
        id_order: Place of each document's id in that order, int64 of shape (documents,), where it is known already.

    Returns:
        Number of the query and row of the document, int32, and score, float32, of every hit, sorted by query and rank; and how
        many documents have a term of the query, but were left out.
    """
    id_order = byte_order(doc_ids, ties) if id_order is None else id_order
    best = _Best(len(queries.counts), k, id_order)
    terms, lists = np.unique(queries.terms, return_inverse=True)
    wanted = WantedLists(lists, queries.starts, queries.weights.astype(np.float64))
    first = self_matches = 0
    for segment in segments:
        rows = slice(first, first + segment.documents)
        here = np.where((excluded >= rows.start) & (excluded < rows.stop), excluded - first, -1)
        cut = Cut(k, id_order[rows], here, best.least)
        parts = []
        for (query, row, score), left_out in search_lists(
            _lists(segment, terms), wanted, range(len(queries.counts)), cut, threads
        ):
            parts.append((query, (row + first).astype(np.int32), score))
            self_matches += left_out
        best.add(parts)
        first += segment.documents
    return best.hits(), self_matches


def _lists(segment: Segment, terms: np.ndarray) -> Lists:
    """The postings of the terms that queries have."""
    place = np.searchsorted(segment.terms, terms)
    known = np.append(segment.terms, -1)[place] == terms
    spans = np.zeros((len(terms), 2), np.int64)
    spans[known] = np.stack([segment.starts[place[known]], segment.starts[place[known] + 1]], axis=1)
    return Lists(segment.rows, segment.weights, spans, np.zeros(len(terms)), segment.documents)


class _Best:
    """The best documents of each query so far.

    Args:
        queries: Number of queries.
        k: Documents to keep for each.
        id_order: Place of each document's id in the order of ties, int64 of shape (documents,).

    Attributes:
        least: For each query a score that k documents reach, float32 of shape (queries,); minus infinity if none is known.
    """

    def __init__(self, queries: int, k: int, id_order: np.ndarray) -> None:
        nothing = np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)
        self._parts: list[Hits] = [nothing]
        self._k, self._id_order = k, id_order
        self.least = np.full(queries, -np.inf, np.float32)

    def add(self, parts: list[Hits]) -> None:
        """Take the hits of a segment, each part sorted by query and rank."""
        self._parts += parts
        for query, _, score in parts:
            self._raise_least(query, score)
        if sum(len(query) for query, *_ in self._parts) > MERGED_HITS:
            self._parts = [self.hits()]
            self._raise_least(self._parts[0][0], self._parts[0][2])

    def hits(self) -> Hits:
        """The k best of each query, sorted by query and rank."""
        return merge_hits(self._parts, lambda rows: self._id_order[rows], self._k)[:3]

    def _raise_least(self, query: np.ndarray, score: np.ndarray) -> None:
        """Where a query has k hits, all others have to score as high as the last of them."""
        ends = np.flatnonzero(np.append(query[1:] != query[:-1], True)[: len(query)])
        full = ends[np.diff(ends, prepend=-1) >= self._k]
        self.least[query[full]] = np.maximum(self.least[query[full]], score[full])
