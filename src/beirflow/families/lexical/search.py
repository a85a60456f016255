"""Exact search of the postings of a chunk with BM25.

Every document that has a term of the query is scored: scores of terms in float32, added in float64 in the order of the terms and,
of a term, of the fields. So a score depends on the query, the document and the statistics alone, not on the chunk.
"""

from collections.abc import Sequence

import numpy as np

from beirflow.families.lexical.bm25 import normalise, scores
from beirflow.families.lexical.postings import Postings
from beirflow.families.lexical.queries import QueryTerms, WeightedField
from beirflow.families.lexical.statistics import places_in_order
from beirflow.families.postings.search import Lists, QueryLists, search_lists
from beirflow.ranking.ranking import Cut, Hits

SLICE_POSTINGS = 1 << 18  # postings whose values are computed at once


def search_postings(queries: QueryTerms, fields: Sequence[WeightedField], postings: Postings, cut: Cut) -> tuple[Hits, Hits]:
    """Find the best documents of each query, among those that have one of its terms in a field.

    Returns hits and excluded documents, as :func:`~beirflow.families.postings.search.search_lists` does.
    """
    terms = places_in_order(queries.distinct, postings.terms)
    lists, spans = zip(*(_lists_of_field(field, postings, terms) for field in fields), strict=True)
    firsts = np.cumsum([0, *(len(each.rows) for each in lists[:-1])])
    rows, values = (_concatenated(columns) for columns in list(zip(*lists, strict=True))[1:])
    whole = Lists(len(postings.text_lengths), rows, values)
    of_terms = np.stack([of_field + first for of_field, first in zip(spans, firsts, strict=True)], axis=1)
    weights = np.stack([field.weights for field in fields], axis=1).reshape(-1)
    of_queries = QueryLists(of_terms[queries.terms].reshape(-1, 2), weights, queries.starts * len(fields))
    return search_lists([(whole, of_queries)], len(queries.lengths), cut, scores)


def _lists_of_field(field: WeightedField, postings: Postings, terms: np.ndarray) -> tuple[Lists, np.ndarray]:
    """Return the posting lists of terms in a field, and the span of each list, int64 of shape (terms, 2).

    ``terms`` are positions in the terms of the postings; the list of -1 is empty. Values are the denominators of the scores.
    """
    begins, ends = (np.where(terms < 0, 0, postings.starts[terms + end]) for end in (0, 1))
    # Some terms at a time, so that what is computed on the way stays small.
    groups = np.split(np.arange(len(terms)), np.flatnonzero(np.diff(np.cumsum(ends - begins) // SLICE_POSTINGS)) + 1)
    parts = (_lists_of_terms(field, postings, begins[group], ends[group]) for group in groups)
    rows, values, sizes = (_concatenated(columns) for columns in zip(*parts, strict=True))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Lists(len(postings.text_lengths), rows, values), np.stack([offsets[:-1], offsets[1:]], axis=1)


def _lists_of_terms(
    field: WeightedField, postings: Postings, begins: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and values of the lists of some terms, by the spans of their postings, and the length of each list."""
    slices = [slice(begin, end) for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]

    def take(column: np.ndarray) -> np.ndarray:
        """Return the selected slices of a column."""
        return np.concatenate([column[each] for each in slices] or [column[:0]])

    rows, sizes = take(postings.rows), ends - begins
    if field.name == "contents":
        counts = np.add(take(postings.title_counts), take(postings.text_counts), dtype=np.float32)
    elif field.name == "title":
        counts = take(postings.title_counts) * postings.text_filled[rows]  # a document without text is not indexed
    else:
        counts = take(postings.text_counts)
    if field.name != "contents":
        has_term = counts > 0
        rows, counts = rows[has_term], counts[has_term]
        sizes = np.diff(np.concatenate([[0], np.cumsum(has_term)])[np.concatenate([[0], np.cumsum(sizes)])])
    return rows, normalise(counts, field.inverse_norms[postings.length_codes[field.name][rows]]), sizes


def _concatenated(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate arrays without a copy of a single one, since fresh memory takes longer than the arithmetic."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
