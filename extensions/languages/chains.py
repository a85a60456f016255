"""Token filters of the analyzers of Lucene 9, by language.

Where Lucene stems by Snowball, PyStemmer does; stems depend on its version. Swahili and Yoruba are cut at white space and nothing
else, as Anserini does, since Lucene has no analyzer of them.
"""

import hashlib
import json
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import regex

from beirflow.core.errors import ConfigError
from beirflow.extensions.languages import stemmers
from beirflow.extensions.languages.names import SNOWBALL, SNOWBALL_VERSION
from beirflow.families.postings.analyzer import ASCII_TOKENS, AT_SIGNS, AT_SPACES, Analyzer, lower
from beirflow.families.postings.grammar import LONGEST_TOKEN, WITH, spans, tokenize

Step = Callable[[str], str]

_STOP_WORDS = Path(__file__).parent / "catalogue" / "stop_words.json"
_STOP_WORDS_SHA256 = (
    "7ba0f9d2124f64cdf17414fae79d9b105ce93248dc254d3ba2d8a258d9faa4ec"  # with other stop words this is other code
)
_DUTCH_STEMS = {"fiets": "fiets", "bromfiets": "bromfiets", "ei": "eier", "kind": "kinder"}

_WHITE_SPACE = regex.compile("[\t-\r\x1c- \u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000]+")  # Java's
_LONGEST_WORD = 255  # UTF-16 units, after which a word without white space is cut

_CJK = regex.compile(
    rf"(?V1)[[\p{{Script=Han}}\p{{Script=Hiragana}}]--\p{{WB=ALetter}}]{WITH}|(?:\p{{WB=Katakana}}{WITH})++"
    rf"|(?:[\p{{Script=Hangul}}&&\p{{WB=ALetter}}]{WITH})++"
)


class Chain(NamedTuple):
    """The way from a piece of a text to its terms."""

    term: Callable[[str], str | None]  # from a token to its term; None for a stop word.
    tokens: Callable[[str], Iterable[str]] | None = None  # from a piece to its tokens; None for those of the grammar.
    in_words: bool = True  # pieces are cut where no word continues; else only at white space
    in_lower_case: bool = True  # ASCII may be put into lower case before


def analyzer(name: str) -> Analyzer:
    """Return an analyzer of this extension. Raises ConfigError as :func:`chain` does."""
    by = chain(name.removeprefix("lucene-"))
    cuts = AT_SIGNS if by.in_words else AT_SPACES

    def terms(piece: str) -> list[str]:
        """Return the terms of a piece of a text."""
        ascii_words = by.tokens is None and by.in_lower_case and len(piece) <= LONGEST_TOKEN and piece.isascii()
        tokens = ASCII_TOKENS(piece) if ascii_words else (by.tokens or tokenize)(piece)
        return [term for term in map(by.term, tokens) if term is not None]

    return Analyzer(cuts.lower() if by.in_lower_case else cuts, by.in_words, terms)


@cache
def chain(language: str) -> Chain:
    """Return the chain of a language of :data:`STEPS`. Raises ConfigError if another PyStemmer is installed than it needs."""
    if language in ("swahili", "yoruba"):
        return Chain(lambda token: token, _at_white_space, in_words=False, in_lower_case=False)
    before, after = STEPS[language]
    stop_words = _stop_words()[language]
    steps = [each if each in (lower, stemmers.digits) else _in_units(each) for each in (*before, *after)]
    if f"lucene-{language}" in SNOWBALL:
        steps.append(_in_units(_snowball(language)))

    def term(token: str) -> str | None:
        """Return the term of a token; None for a stop word."""
        for step in steps[: len(before)]:
            token = step(token)
        if token in stop_words:
            return None
        for step in steps[len(before) :]:
            token = step(token)
        return token

    tokens = {"chinese": _bigrams, "persian": lambda piece: tokenize(piece.replace("\u200c", " "))}.get(language)
    return Chain(term, tokens, in_lower_case=lower in before)


def _stop_words() -> dict[str, frozenset[str]]:
    """Return the stop words by language. Raises ConfigError if the file is another."""
    content = _STOP_WORDS.read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != _STOP_WORDS_SHA256:
        raise ConfigError(f"{_STOP_WORDS} has the sha256 {found}, expected {_STOP_WORDS_SHA256}: other stop words, other scores")
    return {language: frozenset(words.split()) for language, words in json.loads(content).items()}


def _snowball(language: str) -> Step:
    # Here, since few analyzers need them.
    from importlib.metadata import version

    import Stemmer

    if (found := version("PyStemmer")) != SNOWBALL_VERSION:
        problem = f"lucene-{language} needs PyStemmer {SNOWBALL_VERSION}, whose stems are Lucene's; found {found}"
        raise ConfigError(f"{problem}; pip install PyStemmer=={SNOWBALL_VERSION}")
    stem = Stemmer.Stemmer(language).stemWord
    return (lambda word: _DUTCH_STEMS.get(word) or stem(word)) if language == "dutch" else stem


def _in_units(step: Step) -> Step:
    """Return a step for which characters beyond U+FFFF are the two that they are in Java."""

    def apply(word: str) -> str:
        """Apply the step to a word in UTF-16 units."""
        if word.isascii() or max(word) <= "\uffff":
            return step(word)
        # Surrogates are moved to the private area, which no token has, since not every stemmer takes them.
        units = memoryview(word.encode("utf-16-le")).cast("H").tolist()
        done = step("".join(chr(unit + 0x800 if 0xD800 <= unit < 0xE000 else unit) for unit in units))
        return (
            "".join(chr(ord(c) - 0x800 if "\ue000" <= c < "\ue800" else ord(c)) for c in done)
            .encode("utf-16-le", "surrogatepass")
            .decode("utf-16-le", "replace")  # half a character is U+FFFD in Lucene's index, too
        )

    return apply


def _at_white_space(piece: str) -> Iterable[str]:
    """Yield the words of a piece between white space, long ones in parts."""
    for word in _WHITE_SPACE.split(piece):
        start = units = 0
        for place, character in enumerate(word):
            if units >= _LONGEST_WORD:
                yield word[start:place]
                start, units = place, 0
            units += 1 + (character > "\uffff")
        if word:
            yield word[start:]


def _bigrams(piece: str) -> Iterable[str]:
    """Yield pairs of neighbouring characters of Chinese, Japanese and Korean, single ones, and other words whole."""
    run, end = "", -1
    for start, stop in spans(piece):
        token = _usual_width(piece[start:stop])
        of_cjk = _CJK.fullmatch(piece, start, stop) is not None
        if not of_cjk or start != end:
            yield from _pairs(run)
            run = ""
        if of_cjk:
            run, end = run + token, stop
        else:
            yield token
    yield from _pairs(run)


def _pairs(run: str) -> Iterable[str]:
    return map("".join, pairwise(run)) if len(run) > 1 else run


def _usual_width(token: str) -> str:
    """Return a token with ASCII and Katakana of their usual width (Lucene's CJKWidthFilter)."""
    if max(token) < "\uff01":
        return token
    done: list[str] = []
    for character in token:
        narrow = "\uff01" <= character <= "\uff5e" or "\uff65" <= character <= "\uff9f"
        usual = unicodedata.normalize("NFKC", character) if narrow else character
        voiced = ""
        if character in "\uff9e\uff9f" and done and "\u30a6" <= done[-1] <= "\u30fd":
            voiced = unicodedata.normalize("NFC", done[-1] + usual)
        if len(voiced) == 1:
            done[-1] = voiced
        else:
            done.append(usual)
    return "".join(done)


_TO_ASCII, _OF_INDIA = (lower, stemmers.digits), (stemmers.digits, stemmers.compose_indic)

STEPS: dict[str, tuple[tuple[Step, ...], tuple[Step, ...]]] = {
    "arabic": (_TO_ASCII, (stemmers.normalize_arabic, stemmers.stem_arabic)),
    "bengali": ((lower, *_OF_INDIA, stemmers.normalize_bengali), (stemmers.stem_bengali,)),
    "chinese": ((lower,), ()),
    "dutch": ((lower,), ()),
    "finnish": ((lower,), ()),
    "french": ((stemmers.strip_elision, lower), (stemmers.stem_french,)),
    "german": ((lower,), (stemmers.stem_german,)),
    "hindi": ((lower, *_OF_INDIA, stemmers.normalize_hindi), (stemmers.stem_hindi,)),
    "indonesian": ((lower,), (stemmers.stem_indonesian,)),
    "persian": ((*_TO_ASCII, stemmers.normalize_arabic, stemmers.normalize_persian), ()),
    "russian": ((lower,), ()),
    "spanish": ((lower,), (stemmers.stem_spanish,)),
    "telugu": ((*_OF_INDIA, stemmers.normalize_telugu), (stemmers.stem_telugu,)),
}
"""By language, what is done with a token before and after stop words are dropped; Snowball follows where it stems."""
