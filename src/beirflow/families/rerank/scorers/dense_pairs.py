"""A dense system as a reranker."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from beirflow.data.document_text import KINDS, Kind
from beirflow.families.dense.chunk import prepare
from beirflow.families.dense.settings import DenseSettings
from beirflow.families.dense.top_k import careful_scores
from beirflow.families.rerank.scorers.encoders import EncodedPairs
from beirflow.models.encoders.load import load_encoder
from beirflow.models.encoders.query_lists import windows_of
from beirflow.models.model_files import model_card


class DensePairs(EncodedPairs):
    """Scores pairs by the similarity of their two vectors; ``on`` has ``device``, ``precision`` and ``token_budget``."""

    def __init__(self, settings: DenseSettings, **on: Any) -> None:
        self._own = {kind: load_encoder(settings.encoding, kind, **on) for kind in KINDS}
        super().__init__(settings.name, self._own, on["device"])
        self._similarity = str(settings.similarity or model_card(settings).similarity)

    def _windows(self, kind: Kind, texts: Sequence[str]) -> Iterator[torch.Tensor]:
        """Yield the vectors of a window as the search compares them, float32 of shape (texts, dim)."""
        for vectors in self._encoded(kind, texts, windows_of(self._own[kind], texts, kind)):
            yield prepare(np.asarray(vectors, np.float32), self._similarity, self._device)

    def _of_pairs(self, queries: Sequence[str], documents: Sequence[str], query: np.ndarray, document: np.ndarray) -> np.ndarray:
        of_queries = torch.cat(list(self._windows("queries", queries)))
        scores, start = np.empty(len(query), np.float32), 0
        for vectors in self._windows("documents", documents):
            here = np.flatnonzero((document >= start) & (document < start + len(vectors)))
            numbers, rows = (torch.from_numpy(each).to(self._device) for each in (query[here], document[here] - start))
            scores[here] = careful_scores(of_queries, vectors, numbers, rows).cpu().numpy()
            start += len(vectors)
        return scores
