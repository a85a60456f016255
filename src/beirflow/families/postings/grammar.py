"""The tokens of Lucene's StandardTokenizer: the word boundaries of Unicode (UAX #29), as a grammar.

A token holds letters, digits, what joins them, or one ideograph, one Hiragana character, a run of South East Asian script, or an
emoji. The longest match at the leftmost place wins, as in the scanner that Lucene generates from its grammar.
"""

from collections.abc import Iterator

import regex

LONGEST_TOKEN = 255
"""UTF-16 units that Lucene's scanner sees at once; a longer token ends where its longest beginning that fits ends."""

LOOK_AHEAD = 1024
"""Number of characters that are searched for the next token at a time, so that a text without spaces takes no quadratic time."""

# Signs before numbers in Arabic and Kaithi: digits since Unicode 15.1, and marks in Lucene's.
_BEFORE_NUMBERS = r"\u0600-\u0605\u06dd\u08e2\U000110bd\U000110cd"
WITH = rf"[\p{{WB=Format}}\p{{WB=Extend}}\p{{WB=ZWJ}}{_BEFORE_NUMBERS}]*+"  # marks that belong to the character before them

# The signs became letters after Unicode 12, Lucene's.
_LETTER = rf"(?![\u00b8\u02e5-\u02eb\u0558\u055a\u058a\ua708-\ua716])[\p{{WB=Hebrew_Letter}}\p{{WB=ALetter}}]{WITH}"
_DIGIT = rf"(?![{_BEFORE_NUMBERS}])[\p{{WB=Numeric}}\uff10-\uff19]{WITH}"
_HEBREW = rf"\p{{WB=Hebrew_Letter}}{WITH}"
_IN_LETTERS = rf"[\p{{WB=MidLetter}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{WITH}"
_IN_DIGITS = rf"[\p{{WB=MidNum}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{WITH}"
_UNDERSCORE = rf"(?:\p{{WB=ExtendNumLet}}{WITH})"
_KATAKANA = rf"(?:\p{{WB=Katakana}}{WITH})"

# Each place matches in one way alone, hence the possessive quantifiers: with others a token of 255 letters takes a second.
_QUOTED_HEBREW = rf"{_HEBREW}(?:\p{{WB=Single_Quote}}{WITH}|\p{{WB=Double_Quote}}{WITH}{_HEBREW})"
_UNIT = rf"(?:{_QUOTED_HEBREW}|{_LETTER}(?:{_IN_LETTERS}{_LETTER})*+|{_DIGIT}(?:{_IN_DIGITS}{_DIGIT})*+)"
_BODY = rf"(?:{_KATAKANA}++|{_UNIT}++)"
# What begins within a run of underscores begins at its first one too, which was tried: long runs take no quadratic time.
_LEAD = rf"(?:(?=\p{{WB=ExtendNumLet}})(?:(?<!\p{{WB=ExtendNumLet}})|\G){_UNDERSCORE}++)?+"
_WORD = rf"{_LEAD}{_BODY}(?:{_UNDERSCORE}++{_BODY})*+{_UNDERSCORE}*+"
_SOUTH_EAST_ASIAN = rf"(?:\p{{LB=SA}}{WITH})+"
_SINGLE = rf"[\p{{Script=Han}}\p{{Script=Hiragana}}]{WITH}"
# Pictures of Unicode 12, Lucene's; Unicode 17 calls fewer signs so, among them the black star.
_PICTURES = r"\u00a9\u00ae\u2122\u2388\u2600-\u2605\u2607-\u2612\u2614-\u2685\u2690-\u2705\u2708-\u2712\u2763-\u2767"
_PICTURES += (
    r"\U0001F000-\U0001F0FF\U0001F10D-\U0001F10F\U0001F12F\U0001F16C-\U0001F171\U0001F1AD-\U0001F1E5\U0001F249-\U0001F3FF"
)
_PICTURES += r"\U0001F546-\U0001F64F\U0001F680-\U0001F6FF\U0001F774-\U0001F77F\U0001F7D5-\U0001F7FF\U0001F400-\U0001F53D"
_PICTURES += r"\U0001F90C-\U0001F93A\U0001F93C-\U0001F945\U0001F947-\U0001FAFF"
_PICTURE = rf"[\p{{Extended_Pictographic}}{_PICTURES}][\uFE0F\p{{Emoji_Modifier}}]?"
_FLAG = rf"(?:\p{{WB=Regional_Indicator}}{WITH}){{2}}"
_EMOJI = rf"(?:{_FLAG}|[0-9#*]\uFE0F?\u20E3|{_PICTURE}(?:\u200d{_PICTURE})*{WITH})"

_TOKEN = regex.compile(rf"(?V1)(?p)(?:{_WORD}|{_SOUTH_EAST_ASIAN}|{_SINGLE}|{_EMOJI})")
_LEADING = regex.compile(rf"(?V1){_UNDERSCORE}*")


def tokenize(text: str) -> list[str]:
    """Cut a text into its tokens by the grammar."""
    return [text[start:end] for start, end in spans(text)]


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each token of a text begins and ends."""
    place = 0
    while place < len(text):
        found = _TOKEN.search(text, place, place + LOOK_AHEAD)
        if found is None:
            # A token begins no later than this before the end of what was searched, if it fits into the scanner's sight at all.
            place += LOOK_AHEAD - LONGEST_TOKEN
            continue
        start, end = found.span()
        if end - start > LONGEST_TOKEN // 2 or end == place + LOOK_AHEAD:
            end = _end_in_sight(text, start)
        if end is None:
            place = start + max(1, _LEADING.match(text, start).end() - start - LONGEST_TOKEN + 1)
            continue
        yield start, end
        place = end


def _end_in_sight(text: str, start: int) -> int | None:
    """Return the end of the token that begins here, if the text ends after as many UTF-16 units as the scanner sees."""
    sight = start
    units = 0
    while sight < len(text) and units + 1 + (text[sight] > "\uffff") <= LONGEST_TOKEN:
        units += 1 + (text[sight] > "\uffff")
        sight += 1
    found = _TOKEN.match(text, start, sight)
    return found.end() if found else None
