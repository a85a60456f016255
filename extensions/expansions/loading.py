"""Shared by the models of expansions: they are loaded whole, and read documents in batches of similar length."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from beirflow.core.background import map_ahead
from beirflow.core.errors import model_errors_of
from beirflow.extensions.expansions.models import check_kind
from beirflow.families.expansions.settings import Expansion
from beirflow.models.card_modules import refuse_what_is_not_hashed
from beirflow.models.computing.batching import Tokens
from beirflow.models.computing.folder_tokenizer import tokenizer_of
from beirflow.models.computing.loading import load_whole, loading_from
from beirflow.models.computing.token_budget import TokenBudget
from beirflow.models.computing.token_reader import TokenReader

logger = logging.getLogger(__name__)

WINDOW_TEXTS = 1024  # number of texts that are tokenised together and sorted by length before they are batched


class Part(NamedTuple):
    """Additions to some documents."""

    rows: np.ndarray  # of the documents, int64 of shape (n,)
    values: list[Any]  # addition to each
    counts: dict[str, int]  # by name


def load_model(kind: Any, expansion: Expansion, folder: Path, dtype: torch.dtype) -> tuple[Any, Any]:
    """Load a tokenizer and a model of transformers, by one of its Auto classes, all of whose weights are those of the folder.

    Raises ModelError if it cannot be loaded; or if weights are missing, which would be random, or would not be used.
    """
    with model_errors_of(expansion.name):
        check_kind(expansion, folder)
        refuse_what_is_not_hashed(folder)
        with loading_from(folder):
            return tokenizer_of(folder), load_whole(kind, folder, expansion.weights, dtype)


class TextReader(ABC):
    """Reads documents a batch at a time, longest first; a thread tokenises the next while the device computes.

    ``name`` is that of the expansion; a document is cut after ``max_length`` tokens; ``vocabulary`` is the number of tokens that
    the model knows; the budget counts padding.
    """

    device: torch.device  # where it computes
    nothing: Any = ()  # addition to a document without text

    def __init__(self, name: str, tokenizer: Any, max_length: int, vocabulary: int, token_budget: int | str) -> None:
        self.name, self.tokenizer, self.max_length = name, tokenizer, max_length
        self.budget = TokenBudget.of(name, self.device, token_budget, unit="document")
        self._vocabulary, self._reader = vocabulary, TokenReader(tokenizer)
        self._reader.cut(max_length)

    @abstractmethod
    def _compute(self, window: Tokens, rows: np.ndarray, doc_ids: Sequence[str]) -> tuple[list[Any], dict[str, int]]:
        """Compute the additions to a batch of documents, and their counts."""

    def parts(self, doc_ids: Sequence[str], texts: Sequence[str], done: Collection[int] = ()) -> Iterator[Part]:
        """Yield the additions to n documents a batch at a time, in no order; the batches do not depend on what is done.

        Nothing is added to white space, and rows that are done are left out. Raises ModelError if the tokenizer does not
        belong to the model, or if a result is not finite.
        """
        for window in map_ahead(partial(self._tokenize, texts), range(0, len(texts), WINDOW_TEXTS)):
            rows = np.arange(len(window.lengths))
            filled = np.array([text.strip() != "" for text in texts[window.start : window.start + len(rows)]], np.bool_)
            empty = self._left(window, rows[~filled], done)
            if len(empty):
                yield Part(window.start + empty, [self.nothing for _ in empty], {"documents_without_text": len(empty)})
            # Batches are made of all documents, and rows that are done are left out afterwards: a resumed job has the batches of
            # one that ran through.
            for batch in self._batches(window.lengths[filled]):
                left = self._left(window, rows[filled][batch], done)
                if len(left):
                    yield from self.budget.compute(partial(self._forward, window, doc_ids), window.lengths, left)

    def _left(self, window: Tokens, rows: np.ndarray, done: Collection[int]) -> np.ndarray:
        return np.array([row for row in rows.tolist() if window.start + row not in done], np.int64)

    def _batches(self, lengths: np.ndarray) -> Iterator[np.ndarray]:
        return self.budget.batches(lengths)

    def _tokenize(self, texts: Sequence[str], start: int) -> Tokens:
        ids = self._reader.ids(texts[start : start + WINDOW_TEXTS])
        return Tokens.of(start, ids).check(self._vocabulary, self.name)

    def _forward(self, window: Tokens, doc_ids: Sequence[str], rows: np.ndarray) -> Part:
        values, counts = self._compute(window, rows, [doc_ids[window.start + row] for row in rows.tolist()])
        lengths = window.lengths[rows]
        cut = int((lengths >= self.max_length).sum())
        return Part(window.start + rows, values, {**counts, "tokens": int(lengths.sum()), "truncated_documents": cut})
