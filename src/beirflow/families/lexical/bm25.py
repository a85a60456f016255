"""The arithmetic of Lucene's BM25Similarity, in float32 and in its order, so that scores are equal bit for bit.

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


def weights(frequencies: np.ndarray, boosts: np.ndarray, documents: int) -> np.ndarray:
    """Return the weights of n terms in a field, float32 of shape (n,).

    ``frequencies`` is the number of documents whose field has each term, integers from 1, ``boosts`` how often the query has it,
    or its weight there, both of shape (n,), and ``documents`` the number of documents whose field has a term at all.
    """
    # The C library's logarithm, as Java's is within an ulp of it; numpy's depends on the processor.
    idf = np.array([math.log(1 + (documents - df + 0.5) / (df + 0.5)) for df in frequencies.tolist()], dtype=np.float32)
    return boosts.astype(np.float32) * idf


def query_weights(
    frequencies: np.ndarray, counts: np.ndarray, lengths: np.ndarray, field: FieldStatistics, k1: float, b: float
) -> np.ndarray:
    """Return the weights that n terms have if the query is a document too (BM25 in BRIGHT; Anserini's ``-bm25.querySide``).

    The weight is ``idf * tf / (tf + k1 * (1 - b + b * length / avgdl))`` with the statistics of the documents, in float32 and in
    Anserini's order; the length is exact.

    ``frequencies`` is as for :func:`weights`, ``counts`` how often the query has each term, float32, and ``lengths`` the terms of
    the query, all of shape (n,); ``field`` is the field in the whole corpus, ``k1`` and ``b`` are those of documents. Returns
    float32 of shape (n,).
    """
    one, slow, part = np.float32(1), np.float32(k1), np.float32(b)
    mean = np.float32(field.terms) / np.float32(field.documents)
    idf = weights(frequencies, np.ones_like(counts), field.documents)
    return idf * (counts / (counts + slow * (one - part + part * (lengths.astype(np.float32) / mean))))


def inverse_norms(statistics: FieldStatistics, k1: float, b: float) -> np.ndarray:
    """Return the factor of a term's count, for each code of a length, float32 of shape (256,).

    ``k1`` from 0 decides how late counts saturate; at 0 the factor is infinite and counts do not matter. ``b`` from 0 to 1
    decides how much long documents are held back. The field has at least one document in the corpus.
    """
    one = np.float32(1)
    slow, part, mean = np.float32(k1), np.float32(b), np.float32(statistics.terms / statistics.documents)
    with np.errstate(divide="ignore"):
        return one / (slow * ((one - part) + part * LENGTHS.astype(np.float32) / mean))


def scores(weight: np.ndarray, counts: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Return the scores of terms in documents, float32 of shape (n,).

    Of the same shape are their ``weight``, how often the documents have them, ``counts``, where 0 leaves the score undefined, and
    the ``inverse`` norms of the documents.
    """
    values = counts.astype(np.float32)  # each step in its memory: fresh memory takes longer than the arithmetic
    with np.errstate(invalid="ignore"):  # 0 times infinity, where a document does not have the term
        values *= inverse
    values += np.float32(1)
    np.divide(weight, values, out=values)
    return np.subtract(weight, values, out=values)
