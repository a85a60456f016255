"""Turn the texts of a chunk into postings.

Texts are read in batches; a batch leaves two numbers for each of its terms in each title and text, 12 bytes together.
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

MOST_TERMS = 1 << 24  # terms of a title or text: float32 is not exact for larger frequencies

FILLED = r"[^\x00-\x20]"
"""Text that is not blank for Anserini, which calls Java's ``String.trim``: only characters up to the space are white space."""

Texts = tuple[pa.Array, pa.Array]  # titles and texts of some documents, as many of both, strings; nulls count as empty

_TERM_BITS, _FIELD_BITS = np.uint64(32), np.uint64((1 << 32) - 1)


class Batch(NamedTuple):
    """The texts of n documents. Each belongs to a field: 2 * i is the text of document i, 2 * i + 1 its title."""

    texts: pa.LargeStringArray  # of shape (m,)
    fields: np.ndarray  # field of each text, int64 of shape (m,)
    documents: int  # n
    times: np.ndarray | None = None  # how often each text counts, integers above 0 of shape (m,); None for once


def index_texts(batches: Iterable[Texts], threads: int = 1, analyzer: str = ENGLISH) -> Postings:
    """Index documents given as titles and texts; see :func:`index_batches`."""
    return index_batches((batch for titles_and_texts in batches for batch in _of_texts(*titles_and_texts)), threads, analyzer)


def _of_texts(titles: pa.Array, texts: pa.Array) -> Iterator[Batch]:
    """Yield batches of at most :data:`BATCH_BYTES`, or of one document."""
    titles, texts = large_strings(titles), large_strings(texts)
    ends = np.cumsum(pc.add(pc.binary_length(titles), pc.binary_length(texts)).to_numpy())
    start = 0
    while start < len(titles):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + BATCH_BYTES, side="right")))
        document = np.arange(stop - start)
        both = pa.concat_arrays([titles[start:stop], texts[start:stop]])
        yield Batch(both, np.concatenate([2 * document + 1, 2 * document]), stop - start)
        start = stop


def index_batches(batches: Iterable[Batch], threads: int = 1, analyzer: str = ENGLISH) -> Postings:
    """Analyse the documents of a chunk; the postings do not depend on the batches.

    ``threads``, besides the calling one, cut texts into pieces. Raises DataError if a title or text has more than
    :data:`MOST_TERMS` terms.
    """
    vocabulary = Vocabulary(analyzer)
    keys, counts = [np.empty(0, np.uint64)], [np.empty(0, np.uint32)]
    lengths, filled = [np.empty(0, np.int32)], [np.empty(0, bool)]
    documents = 0
    for batch, pieces, has_text in map_ahead(partial(_cut, analyzer=analyzer), batches, threads):
        terms, text = vocabulary.number(pieces)
        field, times = batch.fields[text], None if batch.times is None else batch.times[text]
        length = np.bincount(field, times, minlength=2 * batch.documents)
        if (length > MOST_TERMS).any():
            row = documents + int(np.argmax(length)) // 2
            problem = f"document {row} of the chunk would have {length.max():,.0f} terms, expected at most {MOST_TERMS:,}"
            raise DataError(f"{problem}; if its words are weighted, do their weights need dividing, or another scale?")
        lengths.append(length.astype(np.int32))
        filled.append(np.isin(np.arange(2 * batch.documents), batch.fields[has_text]))
        key, count = _count(terms, field + 2 * documents, times)
        keys.append(key)
        counts.append(count)
        documents += batch.documents
    return _postings(vocabulary.terms, keys, counts, np.concatenate(lengths), np.concatenate(filled))


def _cut(batch: Batch, analyzer: str) -> tuple[Batch, Pieces, np.ndarray]:
    """Cut the texts of a batch into pieces, and find those that are not blank."""
    return batch, cut(batch.texts, analyzer), pc.match_substring_regex(batch.texts, FILLED).to_numpy(zero_copy_only=False)


def _count(terms: np.ndarray, fields: np.ndarray, times: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Count each term in each field: different keys, the term above 32 bits of the field, uint64; and counts, uint32."""
    keys = terms.astype(np.uint64) << _TERM_BITS | fields.astype(np.uint64)
    if times is None:
        keys, counts = np.unique(keys, return_counts=True)
    else:
        keys, key = np.unique(keys, return_inverse=True)
        counts = np.bincount(key, times, minlength=len(keys))
    return keys, counts.astype(np.uint32)


def _postings(
    terms: list[str], keys: list[np.ndarray], counts: list[np.ndarray], lengths: np.ndarray, filled: np.ndarray
) -> Postings:
    """Put the counts of all batches, in lists that are emptied, into the order of terms and rows."""
    names = pa.array(terms, pa.large_string())
    order = pc.sort_indices(names)
    field_bits = np.uint64((len(lengths) | 1).bit_length())
    position = np.argsort(order.to_numpy()).astype(np.uint64) << field_bits
    sorted_keys, times = _sort(position, keys, counts)
    # Without the bit of the title, the keys of title and text of a document are equal: they are one posting.
    is_title = (sorted_keys & np.uint64(1)).astype(bool)
    sorted_keys >>= np.uint64(1)
    is_first = np.append(True, sorted_keys[1:] != sorted_keys[:-1])[: len(sorted_keys)]
    posting = np.cumsum(is_first) - 1
    sorted_keys = sorted_keys[is_first]
    term = (sorted_keys >> (field_bits - np.uint64(1))).astype(np.int32)
    rows = (sorted_keys & ((np.uint64(1) << (field_bits - np.uint64(1))) - np.uint64(1))).astype(np.int32)
    title_counts, text_counts = (_spread(posting[which], times[which], len(rows)) for which in (is_title, ~is_title))
    # A document without a text is not in the index of titles.
    has_term = (slice(None), (title_counts > 0) & filled[0::2][rows], text_counts > 0)
    everywhere, in_titles, in_texts = (np.bincount(term[which], minlength=len(terms)).astype(np.int32) for which in has_term)
    return Postings(
        terms=names.take(order),
        frequencies=everywhere,
        title_frequencies=in_titles,
        text_frequencies=in_texts,
        rows=rows,
        title_counts=title_counts,
        text_counts=text_counts,
        title_lengths=lengths[1::2],
        text_lengths=lengths[0::2],
        title_filled=filled[1::2],
        text_filled=filled[0::2],
    )


def _sort(position: np.ndarray, keys: list[np.ndarray], counts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Sort keys, with the positions of their terms in place of the terms' numbers, and their counts; empty both lists."""
    whole, times = np.concatenate(keys), np.concatenate(counts)
    keys.clear()
    counts.clear()
    whole = position[whole >> _TERM_BITS] | whole & _FIELD_BITS
    free = np.uint64(64 - int(whole.max(initial=1)).bit_length())
    if int(times.max(initial=0)) >> int(free):  # the counts of a very large chunk do not fit into one number with the keys
        by_key = np.argsort(whole)
        return whole[by_key], times[by_key]
    # Sorting numbers is several times faster than sorting by them.
    whole = whole << free | times
    whole.sort()
    return whole >> free, (whole & ((np.uint64(1) << free) - np.uint64(1))).astype(np.uint32)


def _spread(places: np.ndarray, times: np.ndarray, size: int) -> np.ndarray:
    """Return counts at their places among zeros, in the smallest type that holds them."""
    spread = np.zeros(size, np.min_scalar_type(int(times.max(initial=0))))
    spread[places] = times
    return spread
