"""Words of documents that have a term of a query, as BM25 reads both: the same stem, and no stop words."""

import re
from collections.abc import Iterable

from beirflow.postings.analyzer import analyze, analyze_all

WORD = re.compile(r"[^\W_]+")  # letters and digits, which a page may mark


def matched_words(query: str, texts: Iterable[str]) -> list[str]:
    """Return the words of some texts that have a term of a query, in lower case, each once, in order."""
    terms = set(analyze(query))
    words = sorted({word.lower() for text in texts for word in WORD.findall(text)})
    return [word for word, of_word in zip(words, analyze_all(words), strict=True) if terms.intersection(of_word)]
