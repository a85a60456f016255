"""Lucene's own normalization and stemming of words in lower case, language by language.

Each function does what the filters of Lucene 9 with the name of the language do. A test compares them with Lucene word by word.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping


def _letters(base: int, places: str) -> str:
    """Return letters of a block of Unicode by their places there, in hexadecimal digits."""
    return "".join(chr(base + place) for place in bytes.fromhex(places))


_ARABIC_NORMAL = str.maketrans("آأإىة", "اااي\u0647", "\u0640\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652")
_PERSIAN_NORMAL = str.maketrans("\u06cc\u06d2\u06a9\u06c0\u06c1", "\u064a\u064a\u0643\u0647\u0647", "\u0654")
_ARABIC_PREFIX = re.compile("(?:[وبكف]?ال|لل)(?=..)|و(?=...)")
_ARABIC_SUFFIXES = ("ها", "ان", "ات", "ون", "ين", "يه", "ية", "ه", "ة", "ي")

_UNACCENTED = {
    vowel: str.maketrans(accented, vowel * len(accented))
    for vowel, accented in {"a": "àáâä", "e": "èéêë", "i": "ìíîï", "o": "òóôö", "u": "ùúûü"}.items()
}
_SPANISH_NORMAL = {**_UNACCENTED["a"], **_UNACCENTED["e"], **_UNACCENTED["i"], **_UNACCENTED["o"], **_UNACCENTED["u"]}
_GERMAN_NORMAL = {key: value for key, value in _SPANISH_NORMAL.items() if chr(key) not in "èéêë"}
_GERMAN_UMLAUT = re.compile("ae|oe|(?<![aeiouqyäöü])ue|[äöüß]")
_GERMAN_ENDINGS = (
    re.compile("(?<=...)(?:ern|e[mnrs]?|(?<=[bdfghklmnt])s)$"),
    re.compile("(?<=...)(?:est|e[rn]|(?<=[bdfghklmnt])st)$"),
)

_FRENCH_ELISION = re.compile("(?:[lmtnsjdc]|qu|jusqu|quoiqu|lorsqu|puisqu)['’]", re.IGNORECASE)
_FRENCH_NORMAL = str.maketrans("àáâôèéêùûîç", "aaaoeeeuuic")
_FRENCH_ENDINGS = (
    (9, "issement", "ir"), (8, "issant", "ir"), (6, "ement", "e"), (11, "ficatrice", "fier"), (10, "ficateur", "fier"),
    (9, "catrice", "quer"), (8, "cateur", "quer"), (8, "atrice", "er"), (7, "ateur", "er"), (6, "trice", "teur"), (5, "ième", ""),
    (7, "teuse", "ter"), (6, "teur", "ter"), (5, "euse", "eu"), (8, "ère", "er"), (7, "ive", "if"), (4, "folle", "fou"),
    (4, "molle", "mou"), (9, "nnelle", "n"), (9, "nnel", "n"), (4, "ète", "et"), (8, "ique", ""), (8, "esse", "e"),
    (7, "inage", "in"), (9, "isation", ""), (9, "isateur", ""), (8, "ation", ""), (8, "ition", ""),
)  # fmt: skip
"""In their order: the length that a word must exceed, its ending, and the replacement."""
_FRENCH_GO_ON = ("trice", "ète", "ique")  # after which later endings are replaced too

_PARTICLE, _PRONOUN = re.compile("(?:kah|lah|pun)$"), re.compile("(?:[km]u|nya)$")
# The groups are those that s, or t, replaces.
_FIRST_PREFIX = re.compile("^(?:meng|([mp]eny)(?=[aeiou])|me[nm]?|peng|peny|(pen)(?=[aeiou])|pe[nm]|di|ter|ke)")
_SECOND_PREFIX = re.compile("^(?:ber|bel(?=ajar$)|be(?=[^aeiou]er)|per|pel(?=ajar$)|pe)()()")
_INDONESIAN_SUFFIXES = {
    re.compile("kan$"): ("ke*", "pe*", "pe"),
    re.compile("an$"): ("di*", "me*", "te*"),
    re.compile("(?<!s)i$"): ("be*", "ke*", "pe*"),
}
"""With the prefixes that keep them: * marks all that begin so, and "pe" one of the second order."""

_HINDI_NORMAL = dict(
    zip(
        _letters(0x900, "0129313458595A5B5C5D5E5F4546494A0D0E11127206080A6061101440424463484C"),
        _letters(0x900, "022830331516171C21222B2F47474B4B0F0F1313050507090B0C0F133F414362474B"),
        strict=True,
    )
)
_HINDI_NORMAL |= {"न्": "ं", **dict.fromkeys("\u093c\u094d\u200c\u200d", "")}
_TELUGU_NORMAL = {**dict(zip("ఀఁఔఐఆఈఊీూేో", "ంంఓఏఅఇఉిుెొ", strict=True)), "ె\u0c56": "ై", "ఒ\u0c55": "ఓ", "ఒౌ": "ఔ"}
_TELUGU_NORMAL |= dict.fromkeys("\u0c03\u200c\u200d", "")
_BENGALI_NORMAL = dict(zip(_letters(0x980, "4042193637235C5D4E"), _letters(0x980, "3F4102383828303024"), strict=True))

_HINDI_ENDINGS = """
    ाएंगी ाएंगे ाऊंगी ाऊंगा ाइयाँ ाइयों ाइयां ाएगी ाएगा ाओगी ाओगे एंगी ेंगी एंगे ेंगे ूंगी ूंगा ातीं नाओं नाएं ताओं
    ताएं ियाँ ियों ियां ाकर ाइए ाईं ाया ेगी ेगा ोगी ोगे ाने ाना ाते ाती ाता तीं ाओं ाएं ुओं ुएं ुआं कर ाओ िए ाई ाए
    ने नी ना ते ीं ती ता ाँ ां ों ें ो े ू ु ी ि ा"""
_TELUGU_ENDINGS = "ళ్ళు డ్లు డు ము వు లు ని ను చే కై లో ది కి సు వై పై ి ీ ు ూ ె ే ొ ో ా"
_BENGALI_ENDINGS = """
    ি@াছিলাম িতেছিলাম িতেছিলেন ইতেছিলেন ি@াছিলেন ই@াছিলেন িতেছিলি িতেছিলে ি@াছিলা ি@াছিলে িতেছিলা ি@াছিলি @েদেরকে
    িতেছিস িতেছেন ি@াছিস ি@াছেন েছিলাম েছিলেন েদেরকে িতেছি িতেছা িতেছে ছিলাম ছিলেন ি@াছি ি@াছা ি@াছে েছিলে েছিলা
    @েদের দেরকে িলাম িলেন িতাম িতেন িবেন ছিলি ছিলে ছিলা তেছে িতেছ খানা খানি গুলো গুলি @েরা েদের লাম িলি ইলি িলে ইলে
    লেন িলা ইলা তাম িতি ইতি িতে ইতে তেন িতা িবা ইবা িবি ইবি বেন িবে ইবে ছেন @োন @ের েরা দের িস েন লি লে লা তি তে তা
    বি বে বা ছি ছা ছে ুন ুক টা টি নি ের রা কে ি ী া ো ে ব ত""".replace("@", "\u09df")

_INDIC = """
    053E45=11DG 053E46=12D 053E47=13DG 053E48=14DG 053E=06DBPGO 0545=72D 0545=0DG 0546=04D 0547=0FG 0548=10PG 0549=11DG
    054A=12D 054B=13DG 054C=14DPG 0645=11DG 0646=12D 0647=13DG 0648=14DG 0757=08M 0941=0AD 0957=0ATM 0E46=10M 0F45=0DD
    0F46=0ED 0F47=10D 0F57=10O 123E=13M 124C=14EK 1255=13E 1257=14TM 1357=14O 153C=58D 163C=59DP 173C=5ADP 1C3C=5BDP
    213C=5CDBO 223C=5DDBO 234DFF=7AM 244DFF=4EB 283C=29D 284DFF=7BM 2B3C=5EDP 2F3C=5FDB 2C4141=0BE 303C=31D 304DFF=7CM
    324DFF=7DM 333C=34D 334DFF=7EM 3541=2EE 3E45=49DG 3E46=4AD 3E47=4BDG 3E48=4CDG 3F55=40K 4141=42P 463E=4ATM 464255=4BK
    4642=4AK 4646=48M 4655=47EK 4656=48EK 4657=4CTM 473E=4BBOTM 4757=4CBO 4A55=4BK 723F=07P 7240=08P 7247=0FP 7341=09P
    7342=0AP 734B=13P"""
"""Characters that are written as one: places in the block of a script, FF for U+200D, and the scripts that do it."""
_BLOCKS = dict(zip("DBPGOTEKM", range(0x900, 0xD80, 0x80), strict=True))  # Devanagari, Bengali, Gurmukhi, ... Malayalam


def _replacing(table: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that replaces keys of a table in one pass, longer ones first."""
    pattern = re.compile("|".join(map(re.escape, sorted(table, key=len, reverse=True))))
    return lambda word: pattern.sub(lambda found: table[found[0]], word)


def _compositions() -> dict[str, str]:
    """Return the table of :data:`_INDIC` in characters."""
    table = {}
    for entry in _INDIC.split():
        places, composed = bytes.fromhex(entry.partition("=")[0]), int(entry.partition("=")[2][:2], 16)
        for base in (_BLOCKS[script] for script in entry.partition("=")[2][2:]):
            table["".join("\u200d" if place == 0xFF else chr(base + place) for place in places)] = chr(base + composed)
    return table


compose_indic = _replacing(_compositions())
normalize_hindi, normalize_telugu = _replacing(_HINDI_NORMAL), _replacing(_TELUGU_NORMAL)


def _stripping(endings: str) -> Callable[[str], str]:
    """Return a function that strips the longest of some endings, if at least two characters remain before it."""
    by_length = sorted({len(ending) for ending in endings.split()}, reverse=True)
    known = frozenset(endings.split())
    return lambda word: next((word[:-n] for n in by_length if len(word) > n + 1 and word[-n:] in known), word)


stem_hindi, stem_telugu, stem_bengali = map(_stripping, (_HINDI_ENDINGS, _TELUGU_ENDINGS, _BENGALI_ENDINGS))


def digits(word: str) -> str:
    """Replace decimal digits of every script by those of ASCII."""
    return word if word.isascii() else "".join(str(unicodedata.decimal(c, c)) for c in word)


def normalize_arabic(word: str) -> str:
    """Unify alef, yeh and heh, and drop vowel signs and tatweel."""
    return word.translate(_ARABIC_NORMAL)


def normalize_persian(word: str) -> str:
    """Unify the letters of Persian with those of Arabic, after :func:`normalize_arabic`."""
    return word.translate(_PERSIAN_NORMAL)


def stem_arabic(word: str) -> str:
    """Strip an article or conjunction, and then each of some suffixes."""
    word = _ARABIC_PREFIX.sub("", word, count=1) if _ARABIC_PREFIX.match(word) else word
    for suffix in _ARABIC_SUFFIXES:
        if len(word) >= len(suffix) + 2:
            word = word.removesuffix(suffix)
    return word


def normalize_bengali(word: str) -> str:
    """Unify letters that sound alike (UzZaman and Khan 2005)."""
    s, i = list(word), 0
    while i < len(s):
        letter, joined = s[i], i >= 1 and s[i - 1] == "্"
        if letter == "ঁ":
            del s[i]
            continue
        if letter == "ক" and s[i + 1 : i + 3] == ["্", "ি"]:
            s[i + (i > 0) : i + 3] = ["খ"]
        elif letter == "য" and joined and i == 2:
            s[1:3] = ["ে"]
            if s[2:3] == ["া"]:
                del s[2]
            i -= 1
        elif joined and (letter == "য" or (letter == "ব" and (i == 2 or (i >= 5 and s[i - 3] == "্")))):
            del s[i - 1 : i + 1]
            i -= 2
        elif letter == "ব" and joined and i >= 2:
            s[i - 1 : i + 1] = [s[i - 2]]
            i -= 1
        elif letter == "ঃ" and i == len(s) - 1:
            s[i:] = ["হ"] if len(s) <= 3 else []
        elif letter == "ঃ":
            s[i] = s[i + 1]
        else:
            s[i] = _BENGALI_NORMAL.get(letter, letter)
        i += 1
    return "".join(s)


def stem_german(word: str) -> str:
    """Write umlauts as vowels, and strip endings (UniNE, Savoy 2006)."""
    word = _GERMAN_UMLAUT.sub(lambda found: {"ä": "a", "ö": "o", "ü": "u", "ß": "ss"}.get(found[0], found[0][0]), word)
    word = word.translate(_GERMAN_NORMAL)
    for ending in _GERMAN_ENDINGS:
        word = ending.sub("", word, count=1)
    return word


def stem_spanish(word: str) -> str:
    """Drop accents, gender and number (Savoy 2001)."""
    if len(word) < 5:
        return word
    word = word.translate(_SPANISH_NORMAL)
    if word.endswith(("o", "a", "e")):
        return word[:-1]
    if word.endswith("ces"):
        return word[:-3] + "z"
    return word[:-2] if word.endswith(("os", "as", "es")) else word


def strip_elision(token: str) -> str:
    """Strip an elided article or conjunction of French."""
    found = _FRENCH_ELISION.match(token)
    return token[found.end() :] if found else token


def stem_french(word: str) -> str:
    """Strip suffixes, accents and repeated letters (UniNE, Savoy 2006)."""
    if len(word) > 5 and word[-1] == "x":
        word = word[:-2] + "l" if word[-3:-1] == "au" and word[-4] != "e" else word[:-1]
    for letter in "xs":
        word = word[:-1] if len(word) > 3 and word[-1] == letter else word
    for longer_than, ending, replacement in _FRENCH_ENDINGS:
        if len(word) > longer_than and word.endswith(ending):
            word = word[: -len(ending)] + replacement
            if ending == "ement" and len(word) > 3 and word.endswith("ive"):
                word = word[:-2] + "f"
            if ending == "isation" and len(word) > 5 and word.endswith("ual"):
                word = word[:-2] + "el"
            if ending not in _FRENCH_GO_ON:
                break
    return _french_base(word)


def _french_base(word: str) -> str:
    """Drop accents, repeated letters and last vowels."""
    if len(word) > 4:
        word = re.sub(r"([^\W\d_])\1+", r"\1", word.translate(_FRENCH_NORMAL))
    word = word[:-2] if len(word) > 4 and word.endswith("ie") else word
    if len(word) > 4:
        for letter in "ree":
            word = word.removesuffix(letter)
        word = word[:-1] if word[-1] == word[-2] and word[-1].isalpha() else word
    return word


def stem_indonesian(word: str) -> str:
    """Strip particles, pronouns, prefixes and a suffix while more than two syllables remain (Tala 2003)."""
    syllables = sum(letter in "aeiou" for letter in word)
    removed: set[str] = set()

    def strip(pattern: re.Pattern[str]) -> bool:
        """Remove a match of the pattern, if syllables allow; return whether the word changed."""
        nonlocal word, syllables
        found = pattern.search(word) if syllables > 2 else None
        if found and pattern in (_FIRST_PREFIX, _SECOND_PREFIX):
            removed.add(found[0] if pattern is _SECOND_PREFIX and found[0][0] == "p" else found[0][:2] + "*")
            word = ("s" if found[1] else "t" if found[2] else "") + word[found.end() :]
        elif found:
            word = word[: found.start()]
        syllables -= found is not None
        return found is not None

    def strip_suffix() -> bool:
        """Remove the first suffix that the removed prefixes allow."""
        return any(strip(suffix) for suffix, without in _INDONESIAN_SUFFIXES.items() if removed.isdisjoint(without))

    strip(_PARTICLE)
    strip(_PRONOUN)
    if strip(_FIRST_PREFIX):
        if strip_suffix():
            strip(_SECOND_PREFIX)
    else:
        strip(_SECOND_PREFIX)
        strip_suffix()
    return word
