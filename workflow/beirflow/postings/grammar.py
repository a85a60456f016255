"""The tokens of Lucene's StandardTokenizer: the word boundaries of Unicode (UAX #29), as a grammar.

A token holds letters, digits, what joins them, or one ideograph, one Hiragana character, a run of South East Asian script, or an
emoji. The longest match at the leftmost place wins, as in the scanner that Lucene generates from its grammar.
"""

import regex

LONGEST_TOKEN = 255
"""UTF-16 units that Lucene's scanner sees at once; a longer token ends where its longest beginning that fits ends."""

LOOK_AHEAD = 1024
"""Number of characters that are searched for the next token at a time, so that a text without spaces takes no quadratic time."""

_WITH = r"[\p{WB=Format}\p{WB=Extend}\p{WB=ZWJ}]*+"  # marks that belong to the character before them

_LETTER = rf"[\p{{WB=Hebrew_Letter}}\p{{WB=ALetter}}]{_WITH}"
_DIGIT = rf"[\p{{WB=Numeric}}\uff10-\uff19]{_WITH}"
_HEBREW = rf"\p{{WB=Hebrew_Letter}}{_WITH}"
_IN_LETTERS = rf"[\p{{WB=MidLetter}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{_WITH}"
_IN_DIGITS = rf"[\p{{WB=MidNum}}\p{{WB=MidNumLet}}\p{{WB=Single_Quote}}]{_WITH}"
_UNDERSCORE = rf"(?:\p{{WB=ExtendNumLet}}{_WITH})"
_KATAKANA = rf"(?:\p{{WB=Katakana}}{_WITH})"

# Each place matches in one way alone, hence the possessive quantifiers: with others a token of 255 letters takes a second.
_QUOTED_HEBREW = rf"{_HEBREW}(?:\p{{WB=Single_Quote}}{_WITH}|\p{{WB=Double_Quote}}{_WITH}{_HEBREW})"
_UNIT = rf"(?:{_QUOTED_HEBREW}|{_LETTER}(?:{_IN_LETTERS}{_LETTER})*+|{_DIGIT}(?:{_IN_DIGITS}{_DIGIT})*+)"
_BODY = rf"(?:{_KATAKANA}++|{_UNIT}++)"
# What begins within a run of underscores begins at its first one too, which was tried: long runs take no quadratic time.
_LEAD = rf"(?:(?=\p{{WB=ExtendNumLet}})(?:(?<!\p{{WB=ExtendNumLet}})|\G){_UNDERSCORE}++)?+"
_WORD = rf"{_LEAD}{_BODY}(?:{_UNDERSCORE}++{_BODY})*+{_UNDERSCORE}*+"
_SOUTH_EAST_ASIAN = rf"(?:\p{{LB=SA}}{_WITH})+"
_SINGLE = rf"[\p{{Script=Han}}\p{{Script=Hiragana}}]{_WITH}"
_PICTURE = r"[\p{Extended_Pictographic}\u00a9\u00ae\u2122][\uFE0F\p{Emoji_Modifier}]?"
_FLAG = rf"(?:\p{{WB=Regional_Indicator}}{_WITH}){{2}}"
_EMOJI = rf"(?:{_FLAG}|[0-9#*]\uFE0F?\u20E3|{_PICTURE}(?:\u200d{_PICTURE})*{_WITH})"

_TOKEN = regex.compile(rf"(?V1)(?p)(?:{_WORD}|{_SOUTH_EAST_ASIAN}|{_SINGLE}|{_EMOJI})")
_LEADING = regex.compile(rf"(?V1){_UNDERSCORE}*")


def tokenize(text: str) -> list[str]:
    """Cut a text into its tokens by the grammar."""
    tokens = []
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
        tokens.append(text[start:end])
        place = end
    return tokens


def _end_in_sight(text: str, start: int) -> int | None:
    """Return the end of the token that begins here, if the text ends after as many UTF-16 units as the scanner sees."""
    sight = start
    units = 0
    while sight < len(text) and units + 1 + (text[sight] > "\uffff") <= LONGEST_TOKEN:
        units += 1 + (text[sight] > "\uffff")
        sight += 1
    found = _TOKEN.match(text, start, sight)
    return found.end() if found else None
