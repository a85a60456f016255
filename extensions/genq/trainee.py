"""An encoder during training: texts in, a loss with gradients out."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy, normalize

from beirflow.data.document_text import Kind
from beirflow.models.computing.batching import Tokens
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.settings import EncoderSettings
from beirflow.run.devices import choose_precision, exact_device

COSINE_SCALE = 20.0  # factor of cosines, as in sentence-transformers; dot products stay as they are


def in_batch_loss(queries: torch.Tensor, documents: torch.Tensor, similarity: str) -> torch.Tensor:
    """Compute the in-batch loss, low if each query is nearer to its own document than to others: MultipleNegativesRankingLoss.

    It is the mean cross entropy of the queries' scores with the documents, float32 of shape (n, dim) each, in the same order.
    """
    if similarity == "cosine":
        queries, documents = normalize(queries, dim=1) * COSINE_SCALE, normalize(documents, dim=1)
    return cross_entropy(queries @ documents.T, torch.arange(len(queries), device=queries.device))


class Trainee:
    """An encoder whose transformer is trained, in float32; the modules after the pooling stay as they are.

    Device and precision are as for encoding: in bfloat16, products of matrices are computed in it; float16, in which gradients
    vanish, is float32 here. A similarity of None is that in the files of the model. ``model`` is the transformer, and ``place``
    its folder, below that of the encoder. Raises ModelError if the model cannot be loaded, or cannot be trained.
    """

    def __init__(
        self, settings: EncoderSettings, folder: Path, similarity: str | None, *, device: str, precision: str, max_length: int
    ) -> None:
        self.device = exact_device(device)
        # Gradients underflow in float16, which needs a scaled loss.
        lower = choose_precision(precision, self.device) == torch.bfloat16
        self.precision = "bfloat16" if lower else "float32"
        self._encoder = TransformersEncoder(settings, folder, device=self.device.type, precision="float32", token_budget="auto")
        backbone: Any = self._encoder.backbone
        backbone.shorten(max_length)
        self.similarity = similarity or str(self._encoder.card.similarity)
        self.place = self._encoder.card.steps["documents"][0].folder
        self.model = self._encoder.model.train()

    def tokens(self, texts: Sequence[str], kind: Kind) -> Tokens:
        """Return the token ids of texts, with the prompt of their kind."""
        return self._encoder.tokens_of(texts, kind)

    def loss(self, queries: Tokens, documents: Tokens, pairs: tuple[np.ndarray, np.ndarray]) -> torch.Tensor:
        """Compute the loss of a batch, with gradients; ``pairs`` are the rows of its queries and documents."""
        lower = torch.autocast(self.device.type, torch.bfloat16) if self.precision == "bfloat16" else nullcontext()
        with lower:
            of_queries = self._encoder.vectors_of(queries, pairs[0], "queries")
            of_documents = self._encoder.vectors_of(documents, pairs[1], "documents")
        return in_batch_loss(of_queries, of_documents, self.similarity)
