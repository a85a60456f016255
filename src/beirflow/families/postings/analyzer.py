"""Lucene's analysis of texts, by the name of an analyzer, on documents and queries.

``lucene-english`` equals the ``DefaultEnglishAnalyzer`` of Anserini with Lucene 9: tokens, no possessive, lower case, no stop
words, Porter's stems. Extensions have others. A text is first cut where no token continues, at spaces and most signs of ASCII; a
piece is analysed once and then looked up, since most pieces were seen before.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain as joined
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.errors import ConfigError
from beirflow.families.postings.grammar import LONGEST_TOKEN, tokenize
from beirflow.families.postings.names import ELSEWHERE, ENGLISH, analyses
from beirflow.families.postings.porter import stem
from beirflow.run.by_name import by_name

STOP_WORDS = frozenset(
    {
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of", "on",
        "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
    }
)  # fmt: skip

MOST_PIECES = 2_000_000
"""Number of pieces that are remembered, some 150 bytes each; then they are forgotten, and analysed again when they return."""

_USUAL_PIECE = 32  # characters; longer ones, such as sentences of Chinese, count as several

_JOINING = "_.,;':\"#*"
"""ASCII signs that may be inside a token; at every other one, and at spaces, no token continues."""

# Without them fewer pieces are different: half as many in English. A # may begin an emoji, and a ' may end a word in Hebrew.
_NEVER_FIRST, _NEVER_LAST = ".,;:'\"", '.,;:"#*'

_WHITE_SPACE = bytes([*range(9, 14), *range(28, 32)])

AT_SIGNS = bytes(code if code >= 128 or chr(code).isalnum() or chr(code) in _JOINING else ord(" ") for code in range(256))
AT_SPACES = bytes(ord(" ") if code in _WHITE_SPACE else code for code in range(256))
"""Replacement of each byte of UTF-8: a space where texts are cut."""

# The grammar of grammar.py for ASCII: a test compares the two. Here texts are in lower case already.
ASCII_TOKENS = re.compile(r"_*[a-z0-9]+(?:(?:_+|(?<=[0-9])[.,;'](?=[0-9])|(?<=[a-z])[.:'](?=[a-z]))[a-z0-9]+)*_*").findall


class Pieces(NamedTuple):
    """Texts as pieces."""

    distinct: pa.LargeStringArray  # different pieces, of shape (d,)
    places: np.ndarray  # for each piece of each text its place in "distinct", int32 of shape (n,), text after text
    counts: np.ndarray  # pieces of each text, int64 of shape (texts,)


class Analyzer(NamedTuple):
    """The way from texts to terms."""

    cuts: bytes  # replacement of each byte of UTF-8, a space where texts are cut
    trims: bool  # signs at the ends of pieces are in no token
    terms: Callable[[str], list[str]]  # of a piece


@cache
def analyzer_of(name: str) -> Analyzer:
    """Return an analyzer by its name. Raises ConfigError if there is none."""
    if name not in analyses():
        raise ConfigError(f"{name} is not here; {ELSEWHERE}")
    made: Analyzer = by_name(analyses()[name].make)(name)
    return made


def english(_name: str) -> Analyzer:
    """Return the analyzer of English."""
    return Analyzer(AT_SIGNS.lower(), True, _terms_of)


def analyze(text: str, analyzer: str = ENGLISH) -> list[str]:
    """Return the terms of a text, a document's or a query's, in their order, repeated ones as often as they occur."""
    return analyze_all([text], analyzer)[0]


def analyze_all(texts: Sequence[str], analyzer: str = ENGLISH) -> list[list[str]]:
    """Return the terms of several texts, each as :func:`analyze` gives them."""
    pieces = cut(pa.array(texts, pa.large_string()), analyzer)
    terms = [analyzer_of(analyzer).terms(piece) for piece in pieces.distinct.to_pylist()]
    places = np.split(pieces.places, np.cumsum(pieces.counts)[:-1])[: len(texts)]
    return [[term for place in of_text.tolist() for term in terms[place]] for of_text in places]


def cut(texts: pa.LargeStringArray, analyzer: str = ENGLISH) -> Pieces:
    """Cut texts without nulls into pieces, some of them empty, mostly in lower case as far as they are ASCII.

    It releases the interpreter's lock.
    """
    by = analyzer_of(analyzer)
    _, ends, data = texts.buffers()
    offsets = np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1] if len(texts) else np.zeros(1, np.int64)
    content = bytes(memoryview(data)[offsets[0] : offsets[-1]]) if data else b""
    buffers = [None, pa.py_buffer(offsets - offsets[0]), pa.py_buffer(content.translate(by.cuts))]
    parts = pc.ascii_split_whitespace(pa.Array.from_buffers(pa.large_string(), len(texts), buffers))
    pieces = parts.flatten().dictionary_encode()
    if not by.trims:
        return Pieces(pieces.dictionary, pieces.indices.to_numpy(), np.diff(parts.offsets.to_numpy()))
    trimmed = pc.ascii_rtrim(pc.ascii_ltrim(pieces.dictionary, _NEVER_FIRST), _NEVER_LAST).dictionary_encode()
    return Pieces(trimmed.dictionary, trimmed.indices.to_numpy()[pieces.indices.to_numpy()], np.diff(parts.offsets.to_numpy()))


def large_strings(texts: pa.Array | pa.ChunkedArray) -> pa.LargeStringArray:
    """Return strings in the form that :func:`cut` takes; nulls are empty."""
    whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    return pc.fill_null(whole.cast(pa.large_string()), "")


class Vocabulary:
    """Numbers of terms, in the order in which they were first seen."""

    def __init__(self, analyzer: str = ENGLISH) -> None:
        self._terms_of = analyzer_of(analyzer).terms
        self._numbers: dict[str, int] = {}
        self._sequences: list[list[int]] = []
        self._codes = _Memo(self._code_of)
        self._remembered = 0

    @property
    def terms(self) -> list[str]:
        """Terms by their numbers."""
        return list(self._numbers)

    def number(self, pieces: Pieces) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of term and text of each occurrence of a term, both int32 of shape (n,), in no order."""
        if self._remembered > MOST_PIECES:
            self._codes.clear()
            self._sequences.clear()
            self._remembered = 0
        distinct = pieces.distinct.to_pylist()
        codes = np.fromiter(map(self._codes.__getitem__, distinct), np.int32, len(distinct))[pieces.places]
        texts = np.repeat(np.arange(len(pieces.counts), dtype=np.int32), pieces.counts)
        single, several = codes >= 0, np.flatnonzero(codes < _NO_TERM)
        sequences = [self._sequences[_FIRST_SEQUENCE - code] for code in codes[several].tolist()]
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        terms = np.fromiter(joined.from_iterable(sequences), np.int32, int(lengths.sum()))
        return np.concatenate([codes[single], terms]), np.concatenate([texts[single], np.repeat(texts[several], lengths)])

    def _code_of(self, piece: str) -> int:
        """Return the number of the only term of a piece, or a negative code: of no term, or of a sequence of terms."""
        self._remembered += 1 + len(piece) // _USUAL_PIECE
        numbers = [self._numbers.setdefault(term, len(self._numbers)) for term in self._terms_of(piece)]
        if len(numbers) <= 1:
            return numbers[0] if numbers else _NO_TERM
        self._sequences.append(numbers)
        return _FIRST_SEQUENCE - (len(self._sequences) - 1)


_NO_TERM = -1
_FIRST_SEQUENCE = -2


class _Memo(dict[str, int]):
    """Results of a function, by its argument."""

    def __init__(self, function: Callable[[str], int]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, key: str) -> int:
        value = self[key] = self._function(key)
        return value


def _terms_of(piece: str) -> list[str]:
    """Return the terms of a piece of a text, in which ASCII is in lower case."""
    if piece.isascii() and piece.isalnum() and len(piece) <= LONGEST_TOKEN:
        return [] if piece in STOP_WORDS else [stem(piece)]  # by far the most pieces
    tokens = ASCII_TOKENS(piece) if len(piece) <= LONGEST_TOKEN and piece.isascii() else tokenize(piece)
    return [stem(word) for word in map(_normalize, tokens) if word not in STOP_WORDS]


def lower(token: str) -> str:
    """Return the lower case that Java has, each character by itself: no final sigma, and of U+0130 only the i."""
    return token.lower() if token.isascii() else "".join(character.lower()[0] for character in token)


def _normalize(token: str) -> str:
    """Return a token without possessive, in lower case."""
    if token[-1] in "sS" and token[-2:-1] in _APOSTROPHES:
        token = token[:-2]
    return lower(token)


_APOSTROPHES = ("'", "\u2019", "\uff07")
