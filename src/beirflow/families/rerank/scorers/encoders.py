"""Encoders as rerankers: a pair has the score of the system's own run.

Each text is encoded once. Documents come window by window, longest first, and go once their pairs are scored.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from beirflow.core.errors import ModelError
from beirflow.data.document_text import Kind
from beirflow.families.rerank.scorers.prompts import Pair
from beirflow.models.computing.arrival import NotFiniteError
from beirflow.run.devices import exact_device

Vectors = TypeVar("Vectors")


class EncodedPairs(ABC):
    """Scores pairs by encoding their texts apart, with one encoder for each kind of text."""

    def __init__(self, system: str, encoders: Mapping[Kind, Any], device: str) -> None:
        self._system, self._encoders, self._device = system, encoders, exact_device(device)

    def made(self) -> Any:
        """Return precision, device and versions of the scores, for the record."""
        return self._encoders["documents"].made()

    def computation(self) -> Any:
        """Return batches, threads and processor, for the record."""
        return self._encoders["documents"].computation()

    def counts(self) -> dict[str, int]:
        """Count the tokens read so far, and texts that were probably cut, as far as the encoders know."""
        total = Counter[str]()
        for kind, encoder in self._encoders.items():
            total.update(encoder.counts_of(kind))
        return dict(total)

    def _encoded(self, kind: Kind, texts: Sequence[str], windows: Iterator[Vectors]) -> Iterator[Vectors]:
        """Yield vectors window by window; name the text of one that is not finite."""
        try:
            yield from windows
        except NotFiniteError as error:
            problem = f"the vector of {texts[error.row][:60]!r}, one of the {kind}, holds infinity or not-a-number"
            raise ModelError(f"system {self._system}: {problem}; use precision float32, or look at its text") from error

    @abstractmethod
    def _of_pairs(self, queries: Sequence[str], documents: Sequence[str], query: np.ndarray, document: np.ndarray) -> np.ndarray:
        """Score pairs, given by the numbers of their texts; float32 of their shape."""

    def scores(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Score n pairs of a query and a document, float32 of shape (n,).

        Raises ModelError if a vector is not finite, or the tokenizer does not belong to the model; RuntimeError if the device
        fails.
        """
        if not pairs:
            return np.empty(0, np.float32)
        queries = {text: number for number, text in enumerate(dict.fromkeys(query for query, _ in pairs))}
        # By text among equal lengths: the windows must not depend on the order of the pairs.
        distinct = sorted({document for _, document in pairs}, key=lambda text: (-len(text), text))
        documents = {text: number for number, text in enumerate(distinct)}
        query = np.array([queries[text] for text, _ in pairs])
        document = np.array([documents[text] for _, text in pairs])
        return self._of_pairs(list(queries), distinct, query, document)
