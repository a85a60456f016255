"""From texts to weighed tokens: those of a text, or of a text and the new ones of its expansion (uniCOIL)."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from beirflow.computing.model_limits import UNLIMITED
from beirflow.files.errors import ModelError
from beirflow.sparse.parts import AROUND, Part

WITHOUT_SPECIAL_TOKENS = ("table", "tokens", "counts")
"""Kinds that weigh the tokens of a text alone."""


class TextTokenizer:
    """Turns the texts of a part into tokens, cut where they are too long.

    Args:
        tokenizer: Of the part's folder.
        part: How its texts are weighed.
        max_length: Tokens after which a text is cut, special tokens included.

    Attributes:
        truncated: How many ``texts`` and, apart from these, ``expansions`` were as long as their maximum, so probably cut.

    Raises:
        ModelError: Texts with what is added to them can be longer than the maximum, or there are no tokens to stand between them.
    """

    def __init__(self, tokenizer: Any, part: Part, max_length: int) -> None:
        self._tokenizer, self._part, self._max_length = tokenizer, part, max_length
        self._fast = getattr(tokenizer, "backend_tokenizer", None)
        self.truncated: Counter[str] = Counter()
        if self._fast:
            self._fast.no_padding()
        self._first, self._between = tokenizer.cls_token_id, tokenizer.sep_token_id
        if part.text_length is None or part.expansion_length is None:
            return
        longest = part.text_length + part.expansion_length + AROUND
        if longest > max_length:
            problem = f"text_length {part.text_length}, expansion_length {part.expansion_length} and {AROUND} special tokens"
            raise ModelError(
                f"{problem} are {longest}, but the model in {part.folder} reads at most {max_length}; lower one of them"
            )
        if self._first is None or self._between is None:
            raise ModelError(f"the tokenizer in {part.folder} has no [CLS] or no [SEP], between which texts and expansions stand")

    def plain(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of texts, with the special tokens that the model has.

        Args:
            texts: The texts.

        Returns:
            Tokens of each.
        """
        found = self._ids(texts, self._max_length, special=self._part.kind not in WITHOUT_SPECIAL_TOKENS)
        self._count("texts", found, self._max_length)
        return found

    def expanded(self, texts: Sequence[str], added: Sequence[str]) -> list[list[int]]:
        """Tokens of texts with what is added to each, as Pyserini reads them.

        These are [CLS], the text, [SEP], those tokens of what is added that the cut text does not have, each once, and [SEP]. The
        new ones are in the order of a set of numbers in Python, as there: it depends on the numbers and on no seed, and the model
        knows the places of its tokens.

        Args:
            texts: The texts.
            added: Of each, what is added to it.

        Returns:
            Tokens of each.
        """
        lengths = self._part.text_length or 0, self._part.expansion_length or 0
        both = [self._ids(each, length, special=False) for each, length in zip((texts, added), lengths, strict=True)]
        for what, ids, length in zip(("texts", "expansions"), both, lengths, strict=True):
            self._count(what, ids, length)
        return [
            [self._first, *text, self._between, *new_tokens(text, more), self._between] for text, more in zip(*both, strict=True)
        ]

    def _ids(self, texts: Sequence[str], longest: int, *, special: bool) -> list[list[int]]:
        """Tokens of texts, cut after some."""
        if self._fast is None:
            limits: dict[str, Any] = {"truncation": True, "max_length": longest} if longest < UNLIMITED else {}
            found: list[list[int]] = self._tokenizer(list(texts), add_special_tokens=special, **limits)["input_ids"]
            return found
        self._fast.no_truncation()
        if longest < UNLIMITED:
            self._fast.enable_truncation(longest, direction=self._tokenizer.truncation_side)
        return [encoding.ids for encoding in self._fast.encode_batch_fast(list(texts), add_special_tokens=special)]

    def _count(self, what: str, ids: Sequence[Sequence[int]], longest: int) -> None:
        self.truncated[what] += sum(len(each) >= longest for each in ids)


def new_tokens(text: Sequence[int], added: Sequence[int]) -> list[int]:
    """Tokens that a text does not have, each once.

    Args:
        text: Tokens of the text.
        added: Tokens of what is added to it.

    Returns:
        The new ones, in the order of a set of numbers.
    """
    known = frozenset(text)
    return list({token for token in added if token not in known})
