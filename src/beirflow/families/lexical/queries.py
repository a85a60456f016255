"""Queries as weighted terms."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.errors import DataError
from beirflow.families.lexical.bm25 import inverse_norms, query_weights, weights
from beirflow.families.lexical.fields import Bm25
from beirflow.families.lexical.statistics import CorpusStatistics
from beirflow.families.postings.analyzer import Vocabulary, cut, large_strings


class AnalyzedQueries(NamedTuple):
    """The terms of queries. A term that a query repeats weighs more: each pair of a term and how often it occurs is one."""

    terms: pa.LargeStringArray  # different terms of all queries in byte order, of shape (t,)
    pair_terms: np.ndarray  # term of each pair, as its place in "terms", int64 of shape (p,)
    repeats: np.ndarray  # how often a query has the term, int64 of shape (p,)
    lengths: np.ndarray  # terms of the query, where they decide over weights, else 0; int64 of shape (p,)
    pairs: np.ndarray  # pairs of each query, in byte order of their terms, query after query, int64 of shape (n,)
    starts: np.ndarray  # where the pairs of each query begin, and n, int64 of shape (queries + 1,)


class ScoredField(NamedTuple):
    """Inputs of the scores in a field, apart from the counts of the documents."""

    name: str  # "contents", "title" or "text"
    weights: np.ndarray  # of each pair, float32 of shape (p,)
    inverse_norms: np.ndarray  # by the code of a document's length, float32 of shape (256,)


def analyze_queries(texts: pa.Array | pa.ChunkedArray, bm25: Bm25) -> AnalyzedQueries:
    """Analyse the texts of queries as documents are; a query of stop words has no terms."""
    vocabulary = Vocabulary(bm25.analyzer)
    numbers, queries = vocabulary.number(cut(large_strings(texts), bm25.analyzer))
    names = pa.array(vocabulary.terms, pa.large_string())
    order = pc.sort_indices(names).to_numpy()
    place = np.empty(len(names), np.int64)
    place[order] = np.arange(len(names))
    # One number for each pair sorts faster than two.
    occurrences, repeats = np.unique(queries.astype(np.int64) << 32 | place[numbers], return_counts=True)
    query, term = occurrences >> 32, occurrences & 0xFFFFFFFF
    lengths = np.bincount(queries, minlength=len(texts))[query] if bm25.query_weights == "bm25" else np.zeros_like(query)
    kinds, kind = np.unique(repeats << 32 | lengths, return_inverse=True)
    distinct, pairs = np.unique(term << 32 | kind, return_inverse=True)
    of_pair = kinds[distinct & 0xFFFFFFFF]
    starts = np.searchsorted(query, np.arange(len(texts) + 1))
    terms = names.take(pa.array(order))
    return AnalyzedQueries(terms, distinct >> 32, of_pair >> 32, of_pair & 0xFFFFFFFF, pairs, starts)


def weigh(
    queries: AnalyzedQueries, bm25: Bm25, statistics: CorpusStatistics, frequencies: Mapping[str, np.ndarray]
) -> list[ScoredField]:
    """Weigh the terms of queries by the statistics of the corpus, in the searched fields that have terms at all.

    ``frequencies`` are by field the numbers of documents with each term of ``queries.terms``, int64 of shape (t,). Raises
    DataError if no field has a term.
    """
    fields = []
    for name in bm25.searched:
        counted, found = statistics.fields[name], frequencies[name][queries.pair_terms]
        if not counted.documents:
            continue
        known = found > 0
        weight = np.zeros(len(found), np.float32)
        boosts = queries.repeats[known].astype(np.float32)
        if bm25.query_weights == "bm25":
            boosts = query_weights(found[known], boosts, queries.lengths[known], counted, bm25.k1, bm25.b)
        weight[known] = weights(found[known], boosts, counted.documents)
        fields.append(ScoredField(name, weight, inverse_norms(counted, bm25.k1, bm25.b)))
    if not fields:
        names = " and ".join(bm25.searched)
        raise DataError(
            f"none of the {statistics.documents:,} documents has a term in {names}; nothing can be found;"
            " does the corpus have texts, and are they in the fields that the system searches?"
        )
    return fields
