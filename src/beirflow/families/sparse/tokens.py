"""Tokens of texts, or of texts and their expansion (uniCOIL), and weights of tokens as weights of terms."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from beirflow.core.errors import ModelError
from beirflow.families.sparse.layouts import SPECIAL_TOKENS, Part
from beirflow.models.computing.batching import Tokens
from beirflow.models.computing.token_reader import TokenReader

WITHOUT_SPECIAL_TOKENS = ("table", "tokens", "counts")  # kinds of parts that weigh no special tokens

Weights = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Numbers of texts and of terms, int64, and weights, float32, each of shape (m,)."""


class TextTokenizer:
    """Tokenizer of the texts of a part, which are cut after ``max_length`` tokens, special tokens included.

    ``truncated`` counts ``texts`` and, separately, ``expansions`` that were as long as their maximum, so probably cut.
    """

    def __init__(self, tokenizer: Any, part: Part, max_length: int) -> None:
        self._reader, self._part, self._max_length = TokenReader(tokenizer), part, max_length
        self.truncated: Counter[str] = Counter()
        self._first, self._between = tokenizer.cls_token_id, tokenizer.sep_token_id
        if part.text_length is None or part.expansion_length is None:
            return
        longest = part.text_length + part.expansion_length + SPECIAL_TOKENS
        if longest > max_length:
            problem = (
                f"text_length {part.text_length}, expansion_length {part.expansion_length} and {SPECIAL_TOKENS} special tokens"
            )
            raise ModelError(
                f"{problem} are {longest}, but the model in {part.folder} reads at most {max_length}; lower one of them"
            )
        if self._first is None or self._between is None:
            raise ModelError(f"the tokenizer in {part.folder} has no [CLS] or no [SEP], which separate texts and expansions")

    def plain(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of texts, with the special tokens that the model has."""
        ids = self._ids(texts, self._max_length, special=self._part.kind not in WITHOUT_SPECIAL_TOKENS)
        self._count("texts", ids, self._max_length)
        return ids

    def expanded(self, texts: Sequence[str], added: Sequence[str]) -> list[list[int]]:
        """Return the tokens of texts with their additions, as Pyserini reads them.

        These are [CLS], the text, [SEP], those tokens of the addition that the cut text does not have, each once, and [SEP]. The
        new ones are in the order of a set of integers in Python, as there: it depends on the integers and on no seed. The order
        matters, since the model embeds positions.
        """
        lengths = self._part.text_length or 0, self._part.expansion_length or 0
        both = [self._ids(each, length, special=False) for each, length in zip((texts, added), lengths, strict=True)]
        for what, ids, length in zip(("texts", "expansions"), both, lengths, strict=True):
            self._count(what, ids, length)
        return [
            [self._first, *text, self._between, *new_tokens(text, more), self._between] for text, more in zip(*both, strict=True)
        ]

    def _ids(self, texts: Sequence[str], longest: int, *, special: bool) -> list[list[int]]:
        self._reader.cut(longest)
        return list(self._reader.ids(texts, special=special))

    def _count(self, what: str, ids: Sequence[Sequence[int]], longest: int) -> None:
        self.truncated[what] += sum(len(each) >= longest for each in ids)


def new_tokens(text: Sequence[int], added: Sequence[int]) -> list[int]:
    """Return the added tokens that a text lacks, each once, in the order of a set of numbers."""
    known = frozenset(text)
    return list({token for token in added if token not in known})


def count_tokens(window: Tokens, part: Part, table: np.ndarray | None) -> Weights:
    """Weigh the tokens of texts without a model; keep weights above 0.

    ``table`` has the weight of each term, float32 of shape (terms,); without one, weigh by count, or each token with 1.
    """
    text = np.repeat(np.arange(len(window.lengths)), window.lengths)
    pairs, counts = np.unique(text << 32 | window.ids, return_counts=True)  # one key of text and term, both below 2 ** 32
    text, terms = pairs >> 32, pairs & 0xFFFFFFFF
    weights = (counts if part.kind == "counts" else np.ones(len(terms))).astype(np.float32)
    if table is not None:
        weights = table[terms]
    kept = weights > 0
    weighed = text[kept], terms[kept], weights[kept]
    return weighed if part.most_terms is None else _heaviest(*weighed, part.most_terms)


def _heaviest(text: np.ndarray, terms: np.ndarray, weights: np.ndarray, most: int) -> Weights:
    """Keep the heaviest terms of each text; of equal weights, the first ones of the vocabulary."""
    order = np.lexsort((terms, -weights, text))
    places = np.arange(len(order)) - np.searchsorted(text[order], text[order])  # in the own text
    kept = order[places < most]
    return text[kept], terms[kept], weights[kept]
