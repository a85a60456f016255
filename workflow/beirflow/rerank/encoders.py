"""Encoders as rerankers: a pair has the score of the dense or late-interaction system's own run.

Each text is encoded once. Documents come window by window, longest first, and go once their pairs are scored.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import torch

from beirflow.computing.arrival import NotFiniteError
from beirflow.dense.chunk_blocks import BLOCKS, prepare
from beirflow.dense.exact_scores import careful_scores
from beirflow.dense.settings import DenseSettings
from beirflow.encoders.encoder import Encoder
from beirflow.encoders.load import load_encoder
from beirflow.encoders.query_lists import windows_of
from beirflow.files.errors import ModelError
from beirflow.jobs.devices import exact_device
from beirflow.late.encoder import TokenEncoder
from beirflow.late.max_sim import Queries, exact_scores, in_blocks
from beirflow.late.settings import LateSettings
from beirflow.late.vectors import TokenVectors
from beirflow.models.card import KINDS, Kind
from beirflow.models.model_files import model_card
from beirflow.models.model_places import model_folder

Pair = tuple[str, str]
Vectors = TypeVar("Vectors")


class EncodedPairs(ABC):
    """Scores pairs by encoding their texts apart.

    Args:
        system: Name of the system.
        encoders: By kind of text, what encodes it.
        device: ``auto``, ``cuda``, ``mps`` or ``cpu``.
    """

    def __init__(self, system: str, encoders: Mapping[Kind, Encoder] | Mapping[Kind, TokenEncoder], device: str) -> None:
        self._system, self._encoders, self._device = system, encoders, exact_device(device)

    def made(self) -> dict[str, str]:
        """Precision, device and versions that pairs are scored with, for the record."""
        return self._encoders["documents"].made()

    def counts(self) -> dict[str, int]:
        """Tokens that were read so far, and texts that were probably cut, by name; without what an encoder does not know."""
        tokens = [encoder.tokens for encoder in self._encoders.values()]
        counts = {"tokens": None if None in tokens else sum(filter(None, tokens))}
        counts |= {f"truncated_{kind}": encoder.truncated for kind, encoder in self._encoders.items()}
        return {name: count for name, count in counts.items() if count is not None}

    def _encoded(self, kind: Kind, texts: Sequence[str], windows: Iterator[Vectors]) -> Iterator[Vectors]:
        """Vectors, window by window; one that is not finite is named by its text."""
        try:
            yield from windows
        except NotFiniteError as error:
            said = f"the vector of {texts[error.row][:60]!r}, one of the {kind}, holds infinity or not-a-number"
            raise ModelError(f"system {self._system}: {said}; use precision float32, or look at its text") from error

    @abstractmethod
    def _of_pairs(self, queries: Sequence[str], documents: Sequence[str], query: np.ndarray, document: np.ndarray) -> np.ndarray:
        """Scores of pairs, given by the numbers of their texts; float32 of their shape."""

    def scores(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Score pairs of texts.

        Args:
            pairs: n pairs of a query and a document.

        Returns:
            float32 of shape (n,).

        Raises:
            ModelError: A vector is not finite, or the tokenizer does not belong to the model.
            RuntimeError: The device fails.
        """
        if not pairs:
            return np.empty(0, np.float32)
        queries = {text: number for number, text in enumerate(dict.fromkeys(query for query, _ in pairs))}
        distinct = sorted({document for _, document in pairs}, key=lambda text: (-len(text), text))
        documents = {text: number for number, text in enumerate(distinct)}
        query = np.array([queries[text] for text, _ in pairs])
        document = np.array([documents[text] for _, text in pairs])
        return self._of_pairs(list(queries), distinct, query, document)


class DensePairs(EncodedPairs):
    """Pairs have the similarity of their two vectors.

    Args:
        settings: The dense system, as it is for the dataset.
        **on: ``device``, ``precision`` and ``token_budget``.

    Raises:
        ModelError: The model cannot be loaded, or is not understood.
    """

    def __init__(self, settings: DenseSettings, **on: Any) -> None:
        self._own = {kind: load_encoder(settings.encoding, kind, **on) for kind in KINDS}
        super().__init__(settings.name, self._own, on["device"])
        self._similarity = str(settings.similarity or model_card(settings).similarity)

    def _windows(self, kind: Kind, texts: Sequence[str]) -> Iterator[tuple[int, torch.Tensor]]:
        """The number of the first text of a window, and vectors as the search compares them, float32 of shape (texts, dim)."""
        for start, vectors in self._encoded(kind, texts, windows_of(self._own[kind], texts, kind)):
            yield start, prepare(np.asarray(vectors, np.float32), self._similarity, self._device)

    def _of_pairs(self, queries: Sequence[str], documents: Sequence[str], query: np.ndarray, document: np.ndarray) -> np.ndarray:
        """Scores of pairs, given by the numbers of their texts; float32 of their shape."""
        of_queries = torch.cat([vectors for _, vectors in self._windows("queries", queries)])
        size = BLOCKS[self._device.type].of_dim(of_queries.shape[1]).pairs
        found = np.empty(len(query), np.float32)
        for start, vectors in self._windows("documents", documents):
            here = np.flatnonzero((document >= start) & (document < start + len(vectors)))
            numbers, rows = (torch.from_numpy(each).to(self._device) for each in (query[here], document[here] - start))
            found[here] = careful_scores(of_queries, vectors, numbers, rows, size).cpu().numpy() + np.float32(0)  # no -0
        return found


class LatePairs(EncodedPairs):
    """Pairs have the sum of each query token's best match.

    Args:
        settings: The system of late interaction, as it is for the dataset.
        **on: ``device``, ``precision`` and ``token_budget``.

    Raises:
        ModelError: The model cannot be loaded whole, or is not understood.
    """

    def __init__(self, settings: LateSettings, **on: Any) -> None:
        folder = model_folder(settings)
        self._own = {kind: TokenEncoder(settings, folder, kind, **on) for kind in KINDS}
        super().__init__(settings.name, self._own, on["device"])

    def _windows(self, kind: Kind, texts: Sequence[str]) -> Iterator[TokenVectors]:
        return self._encoded(kind, texts, self._own[kind].windows(texts))

    def _of_pairs(self, queries: Sequence[str], documents: Sequence[str], query: np.ndarray, document: np.ndarray) -> np.ndarray:
        """Scores of pairs, given by the numbers of their texts; float32 of their shape."""
        torch.set_float32_matmul_precision("highest")  # the bound of what can be a token's best match supposes it
        of_queries = Queries.of(TokenVectors.together(list(self._windows("queries", queries))), self._device)
        found, start = np.empty(len(query), np.float32), 0
        for window in self._windows("documents", documents):
            here = np.flatnonzero((document >= start) & (document < start + len(window.counts)))
            found[here] = self._of_window(of_queries, window, query[here], document[here] - start)
            start += len(window.counts)
        return found

    def _of_window(self, queries: Queries, texts: TokenVectors, query: np.ndarray, text: np.ndarray) -> np.ndarray:
        """Scores of pairs whose documents are in memory, in blocks of documents of about one length."""
        blocks = in_blocks(texts, self._device)
        place = np.empty(len(blocks.order), np.int64)
        place[blocks.order] = np.arange(len(place))
        found = np.empty(len(query), np.float32)
        for first, block in zip(blocks.bounds.tolist(), blocks.vectors, strict=False):
            here = np.flatnonzero((place[text] >= first) & (place[text] < first + len(block)))
            numbers, rows = (torch.from_numpy(each).to(self._device) for each in (query[here], place[text[here]] - first))
            found[here] = exact_scores(queries, block, numbers, rows).cpu().numpy()
        return found
