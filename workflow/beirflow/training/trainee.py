"""An encoder during training: texts in, a loss with gradients out."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy, normalize

from beirflow.computing.batching import Tokens
from beirflow.datasets.document_text import Kind
from beirflow.encoders.encoder import TransformersEncoder
from beirflow.jobs.devices import choose_precision, exact_device
from beirflow.models.settings import EncoderSettings

COSINE_SCALE = 20.0
"""Factor of cosines, as in sentence-transformers; dot products stay as they are."""


def in_batch_loss(queries: torch.Tensor, documents: torch.Tensor, similarity: str) -> torch.Tensor:
    """Compute the in-batch loss, low if each query is nearer to its own document than to others: MultipleNegativesRankingLoss.

    Args:
        queries: Vectors, float32 of shape (n, dim).
        documents: Those of their documents, likewise.
        similarity: ``dot`` or ``cosine``.

    Returns:
        The mean over the queries of the cross entropy of their scores, of which the first is right for the first, and so on.
    """
    if similarity == "cosine":
        queries, documents = normalize(queries, dim=1) * COSINE_SCALE, normalize(documents, dim=1)
    return cross_entropy(queries @ documents.T, torch.arange(len(queries), device=queries.device))


class Trainee:
    """An encoder whose weights are trained: those of its transformer, in float32; what follows the pooling stays as it is.

    Args:
        settings: The encoder that it begins as.
        folder: Its folder.
        similarity: ``dot`` or ``cosine``; None for what the files of the model say.
        device: ``auto``, ``cuda``, ``mps`` or ``cpu``.
        precision: ``auto``, ``float32``, ``bfloat16`` or ``float16``, as for encoding. In bfloat16, products of matrices are
            computed in it; float16, in which gradients vanish, is float32 here.
        max_length: Tokens after which texts are cut.

    Attributes:
        device: Where it computes.
        precision: ``float32`` or ``bfloat16``.
        model: The transformer.
        place: Its folder, below that of the encoder.
        similarity: ``dot`` or ``cosine``.

    Raises:
        ModelError: The model cannot be loaded, or is not one that is trained.
    """

    def __init__(
        self, settings: EncoderSettings, folder: Path, similarity: str | None, *, device: str, precision: str, max_length: int
    ) -> None:
        self.device = exact_device(device)
        lower = choose_precision(precision, self.device) == torch.bfloat16
        self.precision = "bfloat16" if lower else "float32"
        self._encoder = TransformersEncoder(settings, folder, device=self.device.type, precision="float32", token_budget="auto")
        self._encoder.tower.shorten(max_length)
        self.similarity = similarity or str(self._encoder.card.similarity)
        self.place = self._encoder.card.steps["documents"][0].folder
        self.model = self._encoder.tower.model.train()

    def tokens(self, texts: Sequence[str], kind: Kind) -> Tokens:
        """Token ids of texts, with the prompt of their kind."""
        return self._encoder.tokens_of(texts, kind)

    def loss(self, queries: Tokens, documents: Tokens, pairs: tuple[np.ndarray, np.ndarray]) -> torch.Tensor:
        """The loss of a batch.

        Args:
            queries: Tokens of queries.
            documents: Tokens of documents.
            pairs: Places of the batch's queries and of their documents, each int64 of shape (n,).

        Returns:
            A number on the device, with gradients.
        """
        lower = torch.autocast(self.device.type, torch.bfloat16) if self.precision == "bfloat16" else nullcontext()
        with lower:
            of_queries = self._encoder.vectors_of(queries, pairs[0], "queries")
            of_documents = self._encoder.vectors_of(documents, pairs[1], "documents")
        return in_batch_loss(of_queries, of_documents, self.similarity)
