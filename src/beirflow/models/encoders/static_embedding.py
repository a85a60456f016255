"""One vector per token from a table: StaticEmbedding of sentence-transformers, as in model2vec."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import nn

from beirflow.core.errors import ModelError
from beirflow.models.card import Step
from beirflow.models.computing.chat_template import PLAIN, Frame
from beirflow.models.encoders.head import module_tensors
from beirflow.models.settings import ONNX


class StaticEmbedding:
    """A table of vectors and its tokenizer, in place of a backbone of transformers.

    The vectors of tokens are rounded to ``dtype``. ``max_length`` is the number of tokens after which a text is cut, None for no
    limit; ``vocabulary`` the number of tokens in the table. Raises ModelError for a tokenizer or table that is missing or not
    understood.
    """

    def __init__(self, folder: Path, step: Step, weights: str, dtype: torch.dtype) -> None:
        if weights.endswith(ONNX):
            raise ModelError(f"{folder} holds a table of vectors and no graph; remove 'weights', which names {weights}")
        table = _table(module_tensors(folder, weights), folder)
        self._tokenizer = _tokenizer(folder / "tokenizer.json")
        self.max_length: int | None = step.settings.get("max_length")
        self.model = nn.Embedding(len(table), table.shape[1], _weight=table.to(dtype), _freeze=True)
        self.vocabulary, self.padding = len(table), 0

    def __call__(self, ids: torch.Tensor, mask: torch.Tensor) -> Any:
        """Return the vectors of the tokens of a padded batch, ids and mask of shape (batch, tokens)."""
        return SimpleNamespace(last_hidden_state=self.model(ids))

    def token_ids(self, texts: list[str], frame: Frame = PLAIN) -> Iterator[list[int]]:
        """Yield the token ids of each text behind a prompt."""
        encodings = self._tokenizer.encode_batch_fast([frame.before + text for text in texts], add_special_tokens=False)
        return (encoding.ids[: self.max_length] for encoding in encodings)


def _table(tensors: dict[str, torch.Tensor], folder: Path) -> torch.Tensor:
    """Return the table; that of model2vec may share rows between tokens, and have a weight for each token."""
    table = tensors.get("embedding.weight", tensors.get("embeddings"))
    if table is None or table.ndim != 2:
        raise ModelError(f"{folder} has no table of vectors; its weights are {', '.join(sorted(tensors))}")
    mapping, weights = tensors.get("mapping"), tensors.get("weights")
    if mapping is not None:
        # model2vec stores one row for each cluster of tokens.
        table = table[mapping.long()]
    return table if weights is None else table * weights[:, None]


def _tokenizer(path: Path) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises Exception itself
        raise ModelError(f"{path} cannot be read as a tokenizer ({error}); fetch or save the model again") from error
    tokenizer.no_padding()
    return tokenizer
