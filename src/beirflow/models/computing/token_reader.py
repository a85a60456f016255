"""Texts in, token ids out, by a tokenizer in Rust, without the masks and offsets that transformers makes besides."""

from collections.abc import Iterator, Sequence
from typing import Any

from beirflow.models.computing.batching import UNLIMITED

Text = str | tuple[str, str]
"""A text, or a pair of texts that a model reads together."""


class TokenReader:
    """A tokenizer of transformers that pads nothing and cuts texts after a length; ``fast`` is its part in Rust."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.fast: Any = tokenizer.backend_tokenizer
        self.fast.no_padding()  # which a tokenizer may have been saved with
        self.cut(None)

    def cut(self, longest: int | None) -> None:
        """Cut texts after so many tokens from now on, special tokens included; of a pair, the longer text first."""
        if longest is not None and longest < UNLIMITED:
            self.fast.enable_truncation(longest, strategy="longest_first", direction=self.tokenizer.truncation_side)
        else:
            self.fast.no_truncation()

    def encodings(self, texts: Sequence[Text], *, special: bool = True) -> Iterator[Any]:
        """Yield ``ids`` and ``type_ids`` of each text, with the special tokens of the tokenizer or without."""
        yield from self.fast.encode_batch_fast(list(texts), add_special_tokens=special)

    def ids(self, texts: Sequence[Text], *, special: bool = True) -> Iterator[list[int]]:
        """Yield the token ids of each text."""
        return (encoding.ids for encoding in self.encodings(texts, special=special))
