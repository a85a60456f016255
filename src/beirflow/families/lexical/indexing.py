"""Turn the texts of a chunk into postings.

Texts are read in batches; what a batch leaves is two numbers for each of its terms in each document, 12 bytes together.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.background import map_ahead
from beirflow.core.errors import DataError
from beirflow.families.lexical.postings import Postings
from beirflow.families.postings.analyzer import Pieces, Vocabulary, cut, large_strings
from beirflow.families.postings.names import ENGLISH

BATCH_BYTES = 1 << 24
"""Maximum bytes of texts that are analysed at once: many enough that most pieces of a batch repeat, few enough for memory."""

Texts = tuple[pa.Array, pa.Array]  # titles and texts of some documents, as many of both, strings; nulls count as empty
MOST_TERMS = 1 << 24  # maximum number of terms of a document of weighted words: larger frequencies are not exact in float32

FILLED = r"[^\x00-\x20]"
"""Filled text by Anserini, which calls Java's ``String.trim``: white space is every character up to the space, and no other."""

_ONE = np.uint64(1)
_TERM_BITS, _TEXT_BITS = np.uint64(32), np.uint64((1 << 32) - 1)


class _Batch(NamedTuple):
    """Titles and texts of a batch, cut into pieces: the titles first; and which have more than white space."""

    pieces: Pieces
    title_filled: np.ndarray
    text_filled: np.ndarray


class _Counts(NamedTuple):
    """Counts of terms."""

    keys: np.ndarray  # numbers of term and document, and one bit for the title, as one number, uint64 of shape (n,)
    counts: np.ndarray  # uint32 of shape (n,)


def index_texts(batches: Iterable[Texts], threads: int = 1, analyzer: str = ENGLISH) -> Postings:
    """Analyse the documents of a chunk, in batches of titles and texts, of any sizes; the postings do not depend on the batches.

    ``threads``, besides the calling one, cut texts into pieces.
    """
    vocabulary = Vocabulary(analyzer)
    counts, lengths, filled = [], [], []
    documents = 0
    for batch in map_ahead(partial(_cut, analyzer=analyzer), _small_batches(batches), threads):
        terms, texts = vocabulary.number(batch.pieces)
        size = len(batch.text_filled)
        lengths.append(np.bincount(texts, minlength=2 * size).astype(np.int32).reshape(2, size))
        filled.append(np.stack([batch.title_filled, batch.text_filled]))
        # Keys in the order of the postings: by term, then by document, and of a document the text before the title.
        is_title = texts < size
        places = (np.where(is_title, texts, texts - size).astype(np.uint64) + np.uint64(documents)) << np.uint64(1) | is_title
        counts.append(_count((terms.astype(np.uint64) << _TERM_BITS) | places))
        documents += size
    return _postings(vocabulary.terms, counts, lengths, filled)


class WeightedWords(NamedTuple):
    """Words of n documents in place of their texts."""

    words: pa.LargeStringArray  # of all documents, large_string of shape (w,)
    rows: np.ndarray  # the document of each, from 0, int64 of shape (w,)
    frequencies: np.ndarray  # how often each counts, int64 of shape (w,); a word that counts 0 times is not there
    documents: int  # n


def index_words(batches: Iterable[WeightedWords], threads: int = 1, analyzer: str = ENGLISH) -> Postings:
    """Index documents as if their texts were their words, each as often as it counts, one after another; titles are empty.

    Raises DataError if a document has more than :data:`MOST_TERMS` terms.
    """
    vocabulary = Vocabulary(analyzer)
    counts, lengths, filled = [], [], []
    documents = 0
    for batch, pieces in map_ahead(partial(_cut_words, analyzer=analyzer), batches, threads):
        terms, word = vocabulary.number(pieces)
        rows, times = batch.rows[word], batch.frequencies[word]
        length = np.bincount(rows, weights=times, minlength=batch.documents)
        if (length > MOST_TERMS).any():
            row = documents + int(np.argmax(length))
            problem = f"document {row} of the chunk would have {length.max():,.0f} terms, expected at most {MOST_TERMS:,}"
            raise DataError(f"{problem}; its weights are too large: do they need dividing, or another scale?")
        keys = (terms.astype(np.uint64) << _TERM_BITS) | ((rows.astype(np.uint64) + np.uint64(documents)) << _ONE)
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.append(True, np.diff(keys[order]) != 0)[: len(keys)])
        summed = np.add.reduceat(times[order], first) if len(first) else times[:0]
        counts.append(_Counts(keys[order][first], summed.astype(np.uint32)))
        lengths.append(np.stack([np.zeros(batch.documents, np.int32), length.astype(np.int32)]))
        has_words = np.zeros((2, batch.documents), bool)
        has_words[1, batch.rows] = True
        filled.append(has_words)
        documents += batch.documents
    return _postings(vocabulary.terms, counts, lengths, filled)


def _cut_words(batch: WeightedWords, analyzer: str) -> tuple[WeightedWords, Pieces]:
    """Cut words that count and are more than white space, each as a text of its own."""
    there = (batch.frequencies > 0) & pc.match_substring_regex(batch.words, FILLED).to_numpy(zero_copy_only=False)
    kept = batch._replace(words=batch.words.filter(pa.array(there)), rows=batch.rows[there], frequencies=batch.frequencies[there])
    return kept, cut(kept.words, analyzer)


def _small_batches(batches: Iterable[Texts]) -> Iterator[tuple[pa.LargeStringArray, pa.LargeStringArray]]:
    """Yield titles and texts in batches of no more bytes than :data:`BATCH_BYTES`, or of one document."""
    for titles, texts in batches:
        titles, texts = large_strings(titles), large_strings(texts)
        sizes = pc.add(pc.binary_length(titles), pc.binary_length(texts)).to_numpy()
        start, ends = 0, np.cumsum(sizes)
        while start < len(titles):
            before = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + BATCH_BYTES, side="right")))
            yield titles[start:stop], texts[start:stop]
            start = stop


def _cut(batch: tuple[pa.LargeStringArray, pa.LargeStringArray], analyzer: str) -> _Batch:
    filled = (pc.match_substring_regex(texts, FILLED).to_numpy(zero_copy_only=False) for texts in batch)
    return _Batch(cut(pa.concat_arrays(batch), analyzer), *filled)


def _count(keys: np.ndarray) -> _Counts:
    """Count equal keys; they are sorted in place."""
    keys.sort()
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: len(keys)])
    return _Counts(keys[first], np.diff(first, append=len(keys)).astype(np.uint32))


def _postings(terms: list[str], counts: list[_Counts], lengths_of: list[np.ndarray], filled_of: list[np.ndarray]) -> Postings:
    """Put the counts of all batches, a list that is emptied, into the order of terms and rows."""
    lengths = np.concatenate([np.empty((2, 0), np.int32), *lengths_of], axis=1)
    filled = np.concatenate([np.empty((2, 0), bool), *filled_of], axis=1)
    names = pa.array(terms, pa.large_string())
    order = pc.sort_indices(names).to_numpy()
    place = np.empty(len(terms), np.uint64)
    place[order] = np.arange(len(terms), dtype=np.uint64)
    keys, times = _merge(counts, place, lengths.shape[1])
    # Without the bit of the title, the keys of title and text of a document are equal: they are one posting.
    in_title = (keys & _ONE).astype(bool)
    keys >>= _ONE
    is_first = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    posting = np.cumsum(is_first) - 1
    keys = keys[is_first]
    split = np.uint64(_place_bits(lengths.shape[1]) - 1)
    term, rows = (keys >> split).astype(np.int32), (keys & ((_ONE << split) - _ONE)).astype(np.int32)
    title_counts, text_counts = (_spread(posting[which], times[which], len(keys)) for which in (in_title, ~in_title))
    # A document without a text is in no index of titles, where its term does not count.
    everywhere, in_titles, in_texts = (
        np.bincount(term[which], minlength=len(terms)).astype(np.int32)
        for which in (slice(None), (title_counts > 0) & filled[1][rows], text_counts > 0)
    )
    return Postings(
        terms=names.take(pa.array(order)),
        frequencies=everywhere,
        title_frequencies=in_titles,
        text_frequencies=in_texts,
        rows=rows,
        title_counts=title_counts,
        text_counts=text_counts,
        title_lengths=lengths[0],
        text_lengths=lengths[1],
        title_filled=filled[0],
        text_filled=filled[1],
    )


def _place_bits(documents: int) -> int:
    """Return the number of bits that hold the number of a document and whether it is the title."""
    return (2 * documents | 1).bit_length()


def _merge(counts: list[_Counts], place: np.ndarray, documents: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort the counts of all batches by the places of their terms, which are above :func:`_place_bits` bits of the keys."""
    keys = np.concatenate([np.empty(0, np.uint64), *(part.keys for part in counts)])
    times = np.concatenate([np.empty(0, np.uint32), *(part.counts for part in counts)])
    counts.clear()
    below = np.uint64(_place_bits(documents))
    keys = (place[keys >> _TERM_BITS] << below) | (keys & _TEXT_BITS)
    free = 64 - int(below) - len(place).bit_length()
    if int(times.max(initial=0)).bit_length() > free:  # a document that repeats a word millions of times
        order = np.argsort(keys)
        return keys[order], times[order]
    # Sorting numbers is several times faster than sorting by them.
    keys <<= np.uint64(free)
    keys |= times
    keys.sort()
    return keys >> np.uint64(free), (keys & ((_ONE << np.uint64(free)) - _ONE)).astype(np.uint32)


def _spread(places: np.ndarray, times: np.ndarray, size: int) -> np.ndarray:
    """Return counts at their places among zeros, in the smallest type that holds them."""
    spread = np.zeros(size, np.min_scalar_type(int(times.max(initial=0))))
    spread[places] = times
    return spread
