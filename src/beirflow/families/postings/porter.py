"""Lucene's stemmer of Porter (1980, "An algorithm for suffix stripping").

Lucene's has the departures of Porter's own C program: ``bli`` becomes ``ble``, ``logi`` becomes ``log``, and words of one or two
letters stay as they are. NLTK has the same as ``MARTIN_EXTENSIONS``, but its import takes more than a second in every job, and a
word four times as long. A test compares the two.
"""

import re
from collections.abc import Callable

# A consonant is any character but a, e, i, o, u, and but y after a consonant. A first y, a consonant, is written Y here.
CONSONANTS = "[^aeiou][^aeiouy]*"
VOWELS = "[aeiouy][aeiou]*"

HAS_VOWEL = re.compile(f"(?:{CONSONANTS})?[aeiouy]").match  # Porter's ``*v*``

MEASURE_ABOVE_0 = re.compile(f"(?:{CONSONANTS})?{VOWELS}{CONSONANTS}").match
"""Porter's ``m > 0``: vowels followed by consonants, at least once."""

MEASURE_ABOVE_1 = re.compile(f"(?:{CONSONANTS})?(?:{VOWELS}{CONSONANTS}){{2}}").match

SHORT = re.compile(f"{CONSONANTS}[aeiouy][^aeiouwxy]").fullmatch
"""Porter's ``m = 1 and *o``: one vowel between consonants, of which the last is one and not w, x or y."""

STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
STEP_4 = {
    "al": "", "ance": "", "ence": "", "er": "", "ic": "", "able": "", "ible": "", "ant": "", "ement": "", "ment": "", "ent": "",
    "ion": "", "ou": "", "ism": "", "ate": "", "iti": "", "ous": "", "ive": "", "ize": "",
}  # fmt: skip


def _by_ending(rules: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
    """Return rules by the last two letters of their suffixes, longer suffixes first."""
    longest_first = sorted(rules.items(), key=lambda rule: -len(rule[0]))
    return {ending: [rule for rule in longest_first if rule[0].endswith(ending)] for ending in {suffix[-2:] for suffix in rules}}


STEPS = [(_by_ending(STEP_2), MEASURE_ABOVE_0), (_by_ending(STEP_3), MEASURE_ABOVE_0), (_by_ending(STEP_4), MEASURE_ABOVE_1)]


def stem(word: str) -> str:
    """Return the stem of a word in lower case; a word of at most two characters is its own.

    Characters beyond U+FFFF count as the two that they are in UTF-16, as in Java.
    """
    if not word.isascii() and max(word) > "\uffff":
        units = word.encode("utf-16-le")
        pairs = "".join(chr(unit) for unit in memoryview(units).cast("H"))
        return _stem(pairs).encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    return _stem(word)


def _stem(word: str) -> str:
    if len(word) <= 2:
        return word
    begins_with_y = word[0] == "y"
    if begins_with_y:
        word = "Y" + word[1:]
    if word[-1] == "s":
        word = _step_1a(word)
    if word[-1] in "dg" and word.endswith(("ed", "ing")):
        word = _step_1b(word)
    if word[-1] == "y" and HAS_VOWEL(word, 0, len(word) - 1):
        word = word[:-1] + "i"
    for rules, condition in STEPS:
        if word[-2:] in rules:
            word = _replace(word, rules[word[-2:]], condition)
    if word[-1] in "el":
        word = _step_5(word)
    return "y" + word[1:] if begins_with_y else word


def _step_1a(word: str) -> str:
    """Strip plurals."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word if word.endswith("ss") else word[:-1]


def _step_1b(word: str) -> str:
    """Strip past tenses and participles."""
    if word.endswith("eed"):
        return word[:-1] if MEASURE_ABOVE_0(word, 0, len(word) - 3) else word
    base = word[:-2] if word.endswith("ed") else word[:-3]
    if not HAS_VOWEL(base):
        return word
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if _ends_double(base):
        return base if base[-1] in "lsz" else base[:-1]
    return base + "e" if SHORT(base) else base


def _step_5(word: str) -> str:
    """Strip a last e, and one of two l."""
    if word[-1] == "e" and (MEASURE_ABOVE_1(word) or (MEASURE_ABOVE_0(word) and not SHORT(word, 0, len(word) - 1))):
        word = word[:-1]
    if word.endswith("ll") and MEASURE_ABOVE_1(word):
        return word[:-1]
    return word


def _replace(word: str, rules: list[tuple[str, str]], condition: Callable[[str, int, int], object]) -> str:
    """Replace the longest suffix that has a rule, if what precedes it fulfils the condition."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            end = len(word) - len(suffix)
            if suffix == "ion" and word[end - 1 : end] not in ("s", "t"):
                return word
            return word[:end] + replacement if condition(word, 0, end) else word
    return word


def _ends_double(word: str) -> bool:
    """Test whether a word ends with the same consonant twice."""
    if len(word) < 2 or word[-1] != word[-2] or word[-1] in "aeiou":
        return False
    if word[-1] != "y":
        return True
    start = word.rstrip("y")  # of several y every second is a consonant, the first one after a vowel
    return ((len(word) - len(start)) % 2 == 1) == (start[-1] in "aeiou")
