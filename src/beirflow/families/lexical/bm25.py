"""Lucene's BM25Similarity, in float32 and in its order of operations, so that scores are equal bit for bit.

The score of a term in a field of a document is (Robertson and Zaragoza 2009, section 3; Lucene 9, ``BM25Similarity``)

    s = w - w / (1 + tf * inverse)
    w = boost * ln(1 + (N - df + 0.5) / (df + 0.5))
    inverse = 1 / (k1 * (1 - b + b * dl / avgdl))

where tf is how often the field has the term, df in how many documents it has it, N the number of documents whose field has a
term at all, dl the length of the field in terms, as one byte holds it, avgdl the mean of the true lengths, and boost how often
the query has the term.
"""

import math
from typing import NamedTuple

import numpy as np

FREE_CODES = 24
"""Number of lengths with a code of their own (Lucene's ``SmallFloat``); of longer ones, four significant bits are kept."""

MATCH = float(np.finfo(np.float64).tiny)
"""Least score of a term in a document: too small to change a sum, but above 0, so that the document counts as found."""


def _length_of(code: int) -> int:
    """Return the length that a code represents (Lucene's ``SmallFloat.byte4ToInt``)."""
    rest = code - FREE_CODES
    if rest < 0:
        return code
    return FREE_CODES + (rest if rest < 8 else (rest & 7 | 8) << ((rest >> 3) - 1))


LENGTHS = np.array([_length_of(code) for code in range(256)], dtype=np.int64)
"""The length that each code represents, int64 of shape (256,), ascending."""


class FieldStatistics(NamedTuple):
    """A field in the whole corpus."""

    documents: int  # that have a term in it
    terms: int  # of all documents together, repeated ones as often as they occur


def length_codes(lengths: np.ndarray) -> np.ndarray:
    """Return the uint8 codes of integer lengths, rounded down to those that have one (Lucene's ``SmallFloat.intToByte4``)."""
    return (np.searchsorted(LENGTHS, lengths, side="right") - 1).astype(np.uint8)


def idfs(frequencies: np.ndarray, documents: int) -> np.ndarray:
    """Return the inverse document frequencies of n terms in a field, float32 of shape (n,).

    ``frequencies`` are the numbers of documents whose field has each term, integers of shape (n,); ``documents`` is the number of
    those whose field has any term.
    """
    # The C library's logarithm, as Java's, is within an ulp; numpy's depends on the processor.
    return np.array([math.log(1 + (documents - df + 0.5) / (df + 0.5)) for df in frequencies.tolist()], dtype=np.float32)


def query_side_weights(counts: np.ndarray, lengths: np.ndarray, field: FieldStatistics, k1: float, b: float) -> np.ndarray:
    """Return the saturated counts of n terms of queries, float32 of shape (n,), as if a query were a document.

    BRIGHT's BM25 and Anserini's ``-bm25.querySide`` multiply the idf by ``tf / (tf + k1 * (1 - b + b * length / avgdl))``, in
    float32 and in this order, with the exact length of the query. ``counts``, float32, are how often the query has each term, and
    ``lengths`` its number of terms, both of shape (n,); ``field`` describes the documents.
    """
    one, k, part = np.float32(1), np.float32(k1), np.float32(b)
    mean = np.float32(field.terms) / np.float32(field.documents)
    return counts / (counts + k * (one - part + part * (lengths.astype(np.float32) / mean)))


def inverse_norms(field: FieldStatistics, k1: float, b: float) -> np.ndarray:
    """Return ``inverse`` for each length code, float32 of shape (256,); infinite if k1 is 0, so that counts do not matter.

    At least one document must have a term in the field.
    """
    one, k, part, mean = np.float32(1), np.float32(k1), np.float32(b), np.float32(field.terms / field.documents)
    with np.errstate(divide="ignore"):
        return one / (k * ((one - part) + part * LENGTHS.astype(np.float32) / mean))


def normalise(counts: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Return the denominators ``1 + tf * inverse`` of n postings, float32 of shape (n,), in the memory of ``inverse``.

    ``counts`` are above 0.
    """
    np.multiply(counts, inverse, out=inverse, dtype=np.float32)
    inverse += np.float32(1)
    return inverse


def scores(denominators: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the scores ``w - w / denominator`` of n postings in float32, as float64 of shape (n,).

    It computes in the memory of ``denominators``. A score that rounds to 0 is raised to :data:`MATCH`.
    """
    values = np.divide(weights, denominators, out=denominators)
    np.subtract(weights, values, out=values)
    return np.maximum(values, MATCH, dtype=np.float64)
