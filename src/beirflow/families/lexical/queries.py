"""Queries as weighted terms."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.errors import DataError
from beirflow.families.lexical.bm25 import idfs, inverse_norms, query_side_weights
from beirflow.families.lexical.fields import Bm25
from beirflow.families.lexical.statistics import CorpusStatistics
from beirflow.families.postings.analyzer import Vocabulary, cut, large_strings


class QueryTerms(NamedTuple):
    """The n terms of queries, each once per query, query after query and in byte order within a query."""

    distinct: pa.LargeStringArray  # terms of all queries in byte order, of shape (t,)
    terms: np.ndarray  # each term of each query, by its position in "distinct", int64 of shape (n,)
    counts: np.ndarray  # how often the query has the term, int64 of shape (n,)
    lengths: np.ndarray  # number of terms of each query, repeated ones included, int64 of shape (queries,)
    starts: np.ndarray  # first term of each query, and n, int64 of shape (queries + 1,)


class WeightedField(NamedTuple):
    """A field of the documents with the weights of the terms of queries."""

    name: str  # "contents", "title" or "text"
    weights: np.ndarray  # of each term of each query, float32 of shape (n,)
    inverse_norms: np.ndarray  # by the code of a document's length, float32 of shape (256,)


def analyze_queries(texts: pa.Array | pa.ChunkedArray, analyzer: str) -> QueryTerms:
    """Analyse the texts of queries as documents are; a query of stop words has no terms."""
    vocabulary = Vocabulary(analyzer)
    numbers, queries = vocabulary.number(cut(large_strings(texts), analyzer))
    names = pa.array(vocabulary.terms, pa.large_string())
    order = pc.sort_indices(names)
    position = np.argsort(order.to_numpy())
    # One number for each pair of a query and a term sorts faster than two.
    pairs, counts = np.unique(queries.astype(np.int64) << 32 | position[numbers], return_counts=True)
    starts = np.searchsorted(pairs >> 32, np.arange(len(texts) + 1))
    return QueryTerms(names.take(order), pairs & 0xFFFFFFFF, counts, np.bincount(queries, minlength=len(texts)), starts)


def weigh(
    queries: QueryTerms, bm25: Bm25, statistics: CorpusStatistics, frequencies: Mapping[str, np.ndarray]
) -> list[WeightedField]:
    """Weigh the terms of queries by the statistics of the corpus, in the searched fields that have terms at all.

    ``frequencies`` are by field the numbers of documents with each term of ``queries.distinct``, int64 of shape (t,). Raises
    DataError if no field has a term.
    """
    fields = []
    for name in bm25.searched:
        field = statistics.fields[name]
        if not field.documents:
            continue
        idf = idfs(frequencies[name], field.documents)[queries.terms]
        boosts = queries.counts.astype(np.float32)
        if bm25.query_weights == "bm25":
            lengths = np.repeat(queries.lengths, np.diff(queries.starts))
            boosts = idf * query_side_weights(boosts, lengths, field, bm25.k1, bm25.b)
        fields.append(WeightedField(name, boosts * idf, inverse_norms(field, bm25.k1, bm25.b)))
    if not fields:
        names = " and ".join(bm25.searched)
        raise DataError(
            f"none of the {statistics.documents:,} documents has a term in {names}; nothing can be found;"
            " does the corpus have texts, and are they in the fields that the system searches?"
        )
    return fields
