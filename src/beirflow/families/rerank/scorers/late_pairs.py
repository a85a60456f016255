"""A late-interaction system as a reranker."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from beirflow.data.document_text import KINDS, Kind
from beirflow.families.late_interaction.encoder import encoder_of
from beirflow.families.late_interaction.max_sim import Queries, exact_scores, in_blocks
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.late_interaction.vectors import TokenVectors
from beirflow.families.rerank.scorers.encoders import EncodedPairs
from beirflow.run.devices import require_exact_products


class LatePairs(EncodedPairs):
    """Scores pairs by the sum of each query token's best match; ``on`` has ``device``, ``precision`` and ``token_budget``."""

    def __init__(self, settings: LateSettings, **on: Any) -> None:
        self._own = {kind: encoder_of(settings, kind, **on) for kind in KINDS}
        super().__init__(settings.name, self._own, on["device"])

    def _windows(self, kind: Kind, texts: Sequence[str]) -> Iterator[TokenVectors]:
        return self._encoded(kind, texts, self._own[kind].windows(texts))

    def _of_pairs(self, queries: Sequence[str], documents: Sequence[str], query: np.ndarray, document: np.ndarray) -> np.ndarray:
        require_exact_products(self._device)  # the bound of what can be a token's best match supposes it
        of_queries = Queries.of(TokenVectors.together(list(self._windows("queries", queries))), self._device)
        scores, start = np.empty(len(query), np.float32), 0
        for window in self._windows("documents", documents):
            here = np.flatnonzero((document >= start) & (document < start + len(window.counts)))
            scores[here] = self._of_window(of_queries, window, query[here], document[here] - start)
            start += len(window.counts)
        return scores

    def _of_window(self, queries: Queries, texts: TokenVectors, query: np.ndarray, text: np.ndarray) -> np.ndarray:
        """Score pairs whose documents are in memory, in blocks of documents of about one length."""
        blocks = in_blocks(texts, self._device)
        place = blocks.places[text]
        scores = np.empty(len(query), np.float32)
        for first, block in zip(blocks.bounds.tolist(), blocks.vectors, strict=False):
            here = np.flatnonzero((place >= first) & (place < first + len(block)))
            numbers, rows = (torch.from_numpy(each).to(self._device) for each in (query[here], place[here] - first))
            scores[here] = exact_scores(queries, block, numbers, rows).cpu().numpy()
        return scores
