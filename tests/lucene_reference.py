"""Lucene's BM25 written plainly, document by document: what the fast code is compared with."""

import math
from collections import Counter
from functools import cache

import numpy as np
from nltk.stem.porter import PorterStemmer

from beirflow.families.postings.analyzer import STOP_WORDS
from beirflow.families.postings.grammar import tokenize

f = np.float32
porter = PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)


@cache
def stem(word: str) -> str:
    """NLTK's stem of the word as Java sees it, in units of UTF-16."""
    units = "".join(map(chr, np.frombuffer(word.encode("utf-16-le"), np.uint16).tolist()))
    return porter.stem(units, False).encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def lower(token: str) -> str:
    return "".join("i" if c == "\u0130" else c.lower() if len(c.lower()) == 1 else c for c in token)


def analyze(text: str) -> list[str]:
    """The grammar, with no piece looked up and no text cut before."""
    terms = []
    for token in tokenize(text):
        word = token[:-2] if token[-1] in "sS" and token[-2:-1] in ("'", "\u2019", "\uff07") else token
        if lower(word) not in STOP_WORDS:
            terms.append(stem(lower(word)))
    return terms


def decoded_length(length: int) -> int:
    """Four significant bits of what is above 24 (SmallFloat)."""
    rest = length - 24
    if rest < 8:
        return length
    shift = rest.bit_length() - 4
    return 24 + (rest >> shift << shift)


class Field:
    """The index of one field: texts by document id."""

    def __init__(self, texts: dict[str, str], k1: float, b: float) -> None:
        self.counts = {doc_id: Counter(analyze(text)) for doc_id, text in texts.items()}
        self.lengths = {doc_id: counts.total() for doc_id, counts in self.counts.items()}
        self.documents = sum(length > 0 for length in self.lengths.values())
        self.terms = sum(self.lengths.values())
        self.frequencies = Counter(term for counts in self.counts.values() for term in counts)
        self.k1, self.b = f(k1), f(b)

    def score(self, term: str, doc_id: str, boost: int) -> float:
        df, one = self.frequencies[term], f(1)
        weight = f(boost) * f(math.log(1 + (self.documents - df + 0.5) / (df + 0.5)))
        mean = f(self.terms / self.documents)
        norm = self.k1 * ((one - self.b) + self.b * f(decoded_length(self.lengths[doc_id])) / mean)
        with np.errstate(divide="ignore"):
            return float(weight - weight / (one + f(self.counts[doc_id][term]) * (one / norm)))


Document = tuple[str, str, str]
"""Id, title and text."""


def build(corpus: list[Document], names: tuple[str, ...], k1: float = 0.9, b: float = 0.4) -> list[Field]:
    blank = "".join(map(chr, range(33)))
    if names == ("contents",):
        return [Field({i: f"{title}\n{text}" for i, title, text in corpus if (title + text).strip(blank)}, k1, b)]
    kept = [document for document in corpus if document[2].strip(blank)]
    return [Field({document[0]: document[1 if name == "title" else 2] for document in kept}, k1, b) for name in names]


def search(
    fields: list[Field], query: str, k: int, left_out: str | None = None, ties: str = "ascending"
) -> list[tuple[str, float]]:
    boosts = sorted(Counter(analyze(query)).items(), key=lambda pair: pair[0].encode())
    found = {}
    for doc_id in fields[0].counts:
        scores = [field.score(term, doc_id, n) for term, n in boosts for field in fields if field.counts[doc_id][term]]
        if scores and doc_id != left_out:
            found[doc_id] = float(f(sum(scores)))
    by_id = sorted(found.items(), key=lambda hit: hit[0].encode(), reverse=ties == "descending")
    return sorted(by_id, key=lambda hit: -hit[1])[:k]
