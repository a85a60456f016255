"""Texts in, token ids out: by a tokenizer in Rust without the masks and offsets that it makes besides, or by one in Python."""

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from beirflow.models.computing.batching import UNLIMITED

Text = str | tuple[str, str]
"""A text, or a pair of texts that a model reads together."""


class TokenReader:
    """A tokenizer of transformers that pads nothing and cuts texts after a length.

    ``fast`` is the tokenizer in Rust; None for one in Python.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.fast: Any = getattr(tokenizer, "backend_tokenizer", None)
        if self.fast:
            self.fast.no_padding()  # which a tokenizer may have been saved with
        self.cut(None)

    def cut(self, longest: int | None) -> None:
        """Cut texts after so many tokens from now on, special tokens included; of a pair, the longer text first."""
        limited = longest is not None and longest < UNLIMITED
        self._limits: dict[str, Any] = {"truncation": "longest_first", "max_length": longest} if limited else {}
        if self.fast and limited:
            self.fast.enable_truncation(longest, strategy="longest_first", direction=self.tokenizer.truncation_side)
        elif self.fast:
            self.fast.no_truncation()

    def encodings(self, texts: Sequence[Text], *, special: bool = True) -> Iterator[Any]:
        """Yield ``ids`` and ``type_ids`` of each text, with the special tokens of the tokenizer or without."""
        if self.fast:
            yield from self.fast.encode_batch_fast(list(texts), add_special_tokens=special)
        elif texts:
            columns = [list(texts)] if isinstance(texts[0], str) else [list(column) for column in zip(*texts, strict=True)]
            encoded = self.tokenizer(*columns, add_special_tokens=special, **self._limits)
            types = encoded.get("token_type_ids", encoded["input_ids"])
            yield from (SimpleNamespace(ids=ids, type_ids=of) for ids, of in zip(encoded["input_ids"], types, strict=True))

    def ids(self, texts: Sequence[Text], *, special: bool = True) -> Iterator[list[int]]:
        """Yield the token ids of each text."""
        return (encoding.ids for encoding in self.encodings(texts, special=special))
