"""One vector per word from a table: StaticEmbedding (as in model2vec) and WordEmbeddings of sentence-transformers."""

import string
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import nn

from beirflow.core.errors import ModelError
from beirflow.models.card import Step
from beirflow.models.encoders.head import module_tensors
from beirflow.models.model_json import read_object
from beirflow.models.model_layout import WHITESPACE
from beirflow.models.settings import ONNX


class WordVectors:
    """A table of vectors and its tokenizer, in place of a backbone of transformers.

    The vectors of words are rounded to ``dtype``. ``max_length`` is the number of words after which a text is cut, None for no
    limit; ``vocabulary`` the number of words in the table. Raises ModelError for a tokenizer or table that is missing or not
    understood.
    """

    def __init__(self, folder: Path, step: Step, weights: str, dtype: torch.dtype) -> None:
        if weights.endswith(ONNX):
            raise ModelError(f"{folder} holds a table of vectors and no graph; remove 'weights', which names {weights}")
        tensors = module_tensors(folder, weights)
        if step.kind == "static":
            table = _static_table(tensors, folder)
            self.token_ids, self.max_length = _fast_tokenizer(folder), step.settings.get("max_length")
        else:
            table = tensors.get("emb_layer.weight")
            config = read_object(folder / "wordembedding_config.json")
            self.token_ids = _whitespace_tokenizer(folder, str(config.get("tokenizer_class", "")))
            self.max_length = step.settings.get("max_length") or config.get("max_seq_length")
        if table is None or table.ndim != 2:
            raise ModelError(f"{folder} has no table of vectors; its weights are {', '.join(sorted(tensors))}")
        self.model = nn.Embedding(len(table), table.shape[1], _weight=table.to(dtype), _freeze=True)
        self.vocabulary, self.padding = len(table), 0
        cut = self.token_ids
        if self.max_length is not None:
            self.token_ids = lambda texts: [ids[: self.max_length] for ids in cut(texts)]

    def __call__(self, ids: torch.Tensor, mask: torch.Tensor) -> Any:
        """Return the vectors of the words of a padded batch, ids and mask of shape (batch, words)."""
        return SimpleNamespace(last_hidden_state=self.model(ids))

    def prompt_length(self, prompt: str) -> int:
        """Count the words of a prompt."""
        return len(self.token_ids([prompt])[0])


def _static_table(tensors: dict[str, torch.Tensor], folder: Path) -> torch.Tensor | None:
    """Return the table; that of model2vec may share rows between tokens, and have a weight for each token."""
    table = tensors.get("embedding.weight", tensors.get("embeddings"))
    if table is None:
        return None
    mapping, weights = tensors.get("mapping"), tensors.get("weights")
    if mapping is not None:
        # model2vec stores one row for each cluster of tokens.
        table = table[mapping.long()]
    return table if weights is None else table * weights[:, None]


def _fast_tokenizer(folder: Path) -> Callable[[list[str]], list[list[int]]]:
    path = folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises Exception itself
        raise ModelError(f"{path} cannot be read as a tokenizer ({error}); fetch or save the model again") from error
    tokenizer.no_padding()
    return lambda texts: [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]


def _whitespace_tokenizer(folder: Path, kind: str) -> Callable[[list[str]], list[list[int]]]:
    """Split at spaces and look words up as they are, then without punctuation, then in lower case."""
    if kind.rpartition(".")[2] != "WhitespaceTokenizer":
        raise ModelError(f"{folder} wants the tokenizer {kind!r}; of WordEmbeddings, only WhitespaceTokenizer is known")
    config = read_object(folder / WHITESPACE)
    rows = {word: row for row, word in enumerate(config.get("vocab", []))}
    stop_words, lower = set(config.get("stop_words", [])), bool(config.get("do_lower_case"))

    def row(word: str) -> int | None:
        for form in (word, word.strip(string.punctuation), word.strip(string.punctuation).lower()):
            if form in stop_words:
                return None
            if form in rows:
                return rows[form]
        return None

    def token_ids(texts: list[str]) -> list[list[int]]:
        rows = ([row(word) for word in (text.lower() if lower else text).split()] for text in texts)
        return [[each for each in words if each is not None] for words in rows]

    return token_ids
