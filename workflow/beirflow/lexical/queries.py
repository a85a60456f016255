"""Queries as weighted terms."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.files.errors import DataError
from beirflow.lexical.bm25 import inverse_norms, weights
from beirflow.lexical.settings import LexicalSettings
from beirflow.lexical.statistics import CorpusStatistics
from beirflow.postings.analyzer import Vocabulary, cut


class AnalyzedQueries(NamedTuple):
    """The terms of queries. A term that a query repeats weighs more: each pair of a term and how often it occurs is one.

    Attributes:
        terms: The different terms of all queries in byte order, large_string of shape (t,).
        pair_terms: The term of each pair, as its place in ``terms``, int64 of shape (p,).
        repeats: How often a query has the term, int64 of shape (p,).
        pairs: The pairs of each query, in byte order of their terms, query after query, int64 of shape (n,).
        starts: Where the pairs of each query begin, and n, int64 of shape (queries + 1,).
    """

    terms: pa.LargeStringArray
    pair_terms: np.ndarray
    repeats: np.ndarray
    pairs: np.ndarray
    starts: np.ndarray


class ScoredField(NamedTuple):
    """Inputs of the scores in a field, apart from the counts of the documents.

    Attributes:
        name: ``contents``, ``title`` or ``text``.
        weights: What each pair weighs, float32 of shape (p,).
        inverse_norms: By the code of a document's length, float32 of shape (256,).
    """

    name: str
    weights: np.ndarray
    inverse_norms: np.ndarray


def analyze_queries(texts: pa.Array | pa.ChunkedArray) -> AnalyzedQueries:
    """Analyse queries as documents are.

    Args:
        texts: The queries' texts, strings of shape (queries,).

    Returns:
        Their terms; a query of stop words has none.
    """
    whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    vocabulary = Vocabulary()
    numbers, queries = vocabulary.number(cut(pc.fill_null(whole.cast(pa.large_string()), "")))
    names = pa.array(vocabulary.terms, pa.large_string())
    order = pc.sort_indices(names).to_numpy()
    place = np.empty(len(names), np.int64)
    place[order] = np.arange(len(names))
    occurrences, repeats = np.unique(queries.astype(np.int64) << 32 | place[numbers], return_counts=True)
    query, term = occurrences >> 32, occurrences & 0xFFFFFFFF
    distinct, pairs = np.unique(term << 32 | repeats, return_inverse=True)
    starts = np.searchsorted(query, np.arange(len(whole) + 1))
    return AnalyzedQueries(names.take(pa.array(order)), distinct >> 32, distinct & 0xFFFFFFFF, pairs, starts)


def weigh(
    queries: AnalyzedQueries, settings: LexicalSettings, statistics: CorpusStatistics, frequencies: Mapping[str, np.ndarray]
) -> list[ScoredField]:
    """Weigh the terms of queries by the statistics of the corpus.

    Args:
        queries: The queries.
        settings: Of the system.
        statistics: Of the corpus.
        frequencies: By field, in how many documents it has each term of ``queries.terms``, int64 of shape (t,).

    Returns:
        The fields that have terms at all, in the order of the settings.

    Raises:
        DataError: There are none.
    """
    fields = []
    for name in settings.searched:
        counted, found = statistics.fields[name], frequencies[name][queries.pair_terms]
        if not counted.documents:
            continue
        known = found > 0
        weight = np.zeros(len(found), np.float32)
        weight[known] = weights(found[known], queries.repeats[known], counted.documents)
        fields.append(ScoredField(name, weight, inverse_norms(counted, settings.k1, settings.b)))
    if not fields:
        names = " and ".join(settings.fields)
        raise DataError(
            f"system {settings.name}: none of the {statistics.documents:,} documents has a term in {names}; nothing can be found;"
            " does the corpus have texts, and are they in the fields that the system searches?"
        )
    return fields
