"""Exact search of the weights of a chunk: products of query and document weights, summed in the order of the terms.

A product of two float32 is exact in double, and so is every sum of integers; the sum is rounded to float32 once. A score depends
on the query and the document alone.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from beirflow.files.background import map_ahead
from beirflow.postings.search import NO_DOCUMENT, Best, Cut, better_of, ranked, search_lists, slices_of
from beirflow.runs.ranking import Hits, Ties, byte_order
from beirflow.sparse.products import Backward, lists_of
from beirflow.sparse.rows import Rows


def search_segments(
    queries: Rows,
    segments: Iterable[Backward],
    doc_ids: pa.Array,
    k: int,
    *,
    excluded: np.ndarray,
    ties: Ties = "descending",
    threads: int = 1,
    id_order: np.ndarray | None = None,
) -> tuple[Hits, int]:
    """Find the k best documents of each query, among those that have one of its terms.

    Args:
        queries: The weights of the queries.
        segments: The weights of the documents.
        doc_ids: Ids of the documents of the chunk, strings of shape (documents,).
        k: Documents to keep for each query.
        excluded: For each query the row of a document that is left out, or -1; shape (queries,).
        ties: Order of ids by which the cut keeps the first of documents with the same score.
        threads: Threads to compute with.
        id_order: Place of each document's id in that order, int64 of shape (documents,), where it is known already.

    Returns:
        Number of the query and row of the document, int32, and score, float32, of every hit, sorted by query, score and that
        order of ids; and how many documents have a term of the query, but were left out.
    """
    id_order = byte_order(doc_ids, ties) if id_order is None else id_order
    slices = slices_of(range(len(queries.counts)))
    best = [NO_DOCUMENT] * len(queries.counts)
    least = np.full(len(queries.counts), -np.inf, np.float32)
    first = self_matches = 0

    def search(some: Sequence[int]) -> int:
        """Search a segment for some queries; gives how many documents were left out."""
        found, left_out = search_lists(segment.lists, wanted, some, cut)
        for query, (rows, scores) in zip(some, found, strict=True):
            best[query] = better_of(best[query], Best(rows + first, scores), id_order, k)
            if len(best[query].rows) == k:
                least[query] = best[query].scores.min()
        return left_out

    def rank(some: Sequence[int]) -> Hits:
        return ranked(some, [best[query] for query in some], id_order, k)

    for segment in segments:
        rows = slice(first, first + segment.lists.documents)
        here = np.where((excluded >= rows.start) & (excluded < rows.stop), excluded - first, -1)
        wanted, cut = lists_of(queries, segment), Cut(k, id_order[rows], here, least)
        self_matches += sum(map_ahead(search, slices, threads))
        first += segment.lists.documents
    hits = [rank([]), *map_ahead(rank, slices, threads)]
    query, row, score = (np.concatenate(columns) for columns in zip(*hits, strict=True))
    return (query, row, score), self_matches
