"""Words of documents that have a term of a query, as lexical systems read both: the same stem, and no stop words."""

from collections.abc import Iterable, Sequence

import regex

from beirflow.postings.analyzer import analyze, analyze_all
from beirflow.postings.languages import ENGLISH

WORD = regex.compile(r"[\p{L}\p{N}\p{M}]+")  # letters with their marks, and digits, which a page may mark


def matched_words(query: str, texts: Iterable[str], analyzers: Sequence[str] = (ENGLISH,)) -> list[str]:
    """Return the words of some texts that have a term of a query for one of the analyzers, in lower case, each once, in order."""
    words = sorted({word for text in texts for word in WORD.findall(text)})
    found = set()
    for analyzer in analyzers:
        terms = set(analyze(query, analyzer))
        of_words = zip(words, analyze_all(words, analyzer), strict=True)
        # In lower case afterwards, since not every analyzer ignores case.
        found |= {word.lower() for word, of_word in of_words if terms.intersection(of_word)}
    return sorted(found)
