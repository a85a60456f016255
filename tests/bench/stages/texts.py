"""Texts of pseudo-English words by Zipf's law: stop words first, then words that grow longer and are inflected."""

from itertools import repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.families.postings.analyzer import STOP_WORDS

ONSETS = (
    "b", "bl", "br", "c", "ch", "cl", "cr", "d", "dr", "f", "fl", "fr", "g", "gl", "gr", "h", "j", "k", "l", "m", "n", "p", "ph",
    "pl", "pr", "qu", "r", "s", "sc", "sh", "sl", "sp", "st", "str", "t", "th", "tr", "v", "w",
)  # fmt: skip
VOWELS = ("a", "e", "i", "o", "u", "a", "e", "i", "o", "y", "ai", "ea", "ee", "ie", "oo", "ou")
CODAS = ("", "", "", "n", "r", "l", "s", "t", "d", "m", "ck", "nd", "nt", "st", "ss")
ENDINGS = (
    "", "", "", "", "s", "s", "ed", "ing", "er", "ly", "al", "ity", "ness", "ation", "ational", "ive", "able", "ment", "ous",
)  # fmt: skip
SYLLABLES = 4

EXPONENT, FLATTENED = 1.1, 2.7
"""Of Zipf's law; and what is added to the rank (Mandelbrot), so that the first word is no larger part of a text than `the` is."""

WRITTEN = ("{}", "{}", "{},", "{}.")
SHARES = (0.82, 0.08, 0.05, 0.05)
"""As it is, with a capital, before a comma, before a full stop."""


def words(rng: np.random.Generator, size: int) -> list[str]:
    """A vocabulary of so many different words, the frequent ones first."""
    found = dict.fromkeys(sorted(STOP_WORDS))
    while len(found) < size:
        count = size - len(found) + 1000
        lengths = np.minimum(1 + rng.poisson(np.log10(np.arange(len(found), len(found) + count)) / 6), SYLLABLES)
        parts = [rng.integers(0, len(of), (SYLLABLES, count)).tolist() for of in (ONSETS, VOWELS, CODAS)]
        endings = rng.integers(0, len(ENDINGS), count).tolist()
        for i, length in enumerate(lengths.tolist()):
            syllables = (ONSETS[parts[0][j][i]] + VOWELS[parts[1][j][i]] + CODAS[parts[2][j][i]] for j in range(length))
            found["".join(syllables) + ENDINGS[endings[i]]] = None
    return [word for word, _ in zip(found, repeat(None, size), strict=False)]


class Writer:
    """Writes texts of a vocabulary whose frequent words come first.

    Attributes:
        shares: Up to each word, the part of a text that it and the words before it make; float64 of shape (words,).
    """

    def __init__(self, rng: np.random.Generator, vocabulary: list[str]) -> None:
        self._rng = rng
        written = [form.format(word.capitalize() if i == 1 else word) for i, form in enumerate(WRITTEN) for word in vocabulary]
        self._written = pa.array(written, pa.string())
        self.shares = np.cumsum((np.arange(len(vocabulary)) + FLATTENED) ** -EXPONENT)
        self.shares /= self.shares[-1]

    def draw(self, count: int) -> np.ndarray:
        """Ranks of words from 0, int64 of shape (count,)."""
        return np.minimum(np.searchsorted(self.shares, self._rng.random(count)), len(self.shares) - 1)

    def queries(self, count: int) -> pa.LargeStringArray:
        """Texts of three to eight words without capitals and punctuation."""
        lengths = self._rng.integers(3, 9, count)
        return self.write(self.draw(int(lengths.sum())), lengths, plain=True)

    def write(self, ranks: np.ndarray, lengths: np.ndarray, plain: bool = False) -> pa.LargeStringArray:
        """Texts, of less than 2 GB together, from the ranks of their words, text after text, and the words of each text."""
        forms = 0 if plain else self._rng.choice(len(WRITTEN), len(ranks), p=SHARES)
        tokens = self._written.take(pa.array(ranks + forms * len(self.shares)))
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return pc.binary_join(pa.ListArray.from_arrays(pa.array(ends), tokens), " ").cast(pa.large_string())
