"""Weights of terms, text by text."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np

LUCENE_SCALE = 256 / 5
"""Factor of weights before they are rounded to integers, in published runs with Lucene."""


class Rows(NamedTuple):
    """The terms of n consecutive texts and what they weigh.

    Attributes:
        counts: Terms of each text, int64 of shape (n,).
        terms: Their numbers in the vocabulary, text after text and ascending inside a text, int32 of shape (m,).
        weights: What they weigh, above 0, float32 of shape (m,).
    """

    counts: np.ndarray
    terms: np.ndarray
    weights: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        """Return the beginning of each text's terms, and their number, int64 of shape (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])

    @classmethod
    def of(cls, texts: int, text: np.ndarray, terms: np.ndarray, weights: np.ndarray) -> Self:
        """Sort weights by text and term.

        Args:
            texts: Number of texts.
            text: Number of each weight's text, int64 of shape (m,).
            terms: Its term, int64 of shape (m,); no text has one twice.
            weights: float32 of shape (m,).

        Returns:
            The weights of all texts.
        """
        order = np.argsort(text << 32 | terms)
        return cls(np.bincount(text, minlength=texts), terms[order].astype(np.int32), weights[order])

    @classmethod
    def together(cls, parts: Sequence["Rows"]) -> Self:
        """The texts of several parts, one after the other."""
        nothing = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
        return cls(*(np.concatenate(columns) for columns in zip(nothing, *parts, strict=True)))


def quantized(rows: Rows, quantize: str) -> Rows:
    """Weights as they are stored.

    Args:
        rows: Weights as a model gives them.
        quantize: ``lucene``, rounded to integers, 256 for 5, without those that are 0; or ``none``.

    Returns:
        The weights, float32; integers among them are exact below 2 ** 24.
    """
    if quantize == "none":
        return rows
    integers = np.rint(rows.weights.astype(np.float64) * LUCENE_SCALE)
    kept = integers > 0
    text = np.repeat(np.arange(len(rows.counts)), rows.counts)[kept]
    return Rows(np.bincount(text, minlength=len(rows.counts)), rows.terms[kept], integers[kept].astype(np.float32))


def in_rows(windows: Iterable[Rows], indices: np.ndarray) -> Iterator[Rows]:
    """Give every row the weights of its text, as soon as these are there: equal texts have equal weights.

    Args:
        windows: Weights of the distinct texts, in order.
        indices: Number of each row's text, integers of shape (rows,); numbers appear in ascending order for the first time.

    Yields:
        Weights of the next rows.
    """
    repeated = np.bincount(indices) > 1
    seen = np.maximum.accumulate(indices)
    kept: dict[int, Rows] = {}
    row = start = 0
    for window in windows:
        stop = start + len(window.counts)
        kept |= {number: _one(window, number - start) for number in (start + np.flatnonzero(repeated[start:stop])).tolist()}
        end = int(np.searchsorted(seen, stop))
        numbers = indices[row:end]
        if len(numbers) == stop - start and (numbers == np.arange(start, stop)).all():
            yield window
        else:
            single = (kept[number] if repeated[number] else _one(window, number - start) for number in numbers.tolist())
            yield Rows.together(list(single))
        row, start = end, stop


def _one(rows: Rows, number: int) -> Rows:
    """The weights of one text."""
    part = slice(*rows.starts[number : number + 2].tolist())
    return Rows(rows.counts[[number]], rows.terms[part].copy(), rows.weights[part].copy())
