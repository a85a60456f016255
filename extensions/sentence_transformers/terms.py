"""Weights of terms that sentence-transformers itself computes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from beirflow.core.errors import ModelError
from beirflow.data.document_text import Kind
from beirflow.extensions.sentence_transformers.model import LibraryModel
from beirflow.families.sparse.files import Rows
from beirflow.families.sparse.layouts import check_similarity


class LibraryWeigher(LibraryModel):
    """A SparseEncoder: the weights of the terms of a text are the values of its vector that are not 0."""

    family = "sparse"
    library_class = "SparseEncoder"
    bare = ("ForMaskedLM",)

    @classmethod
    def check_use(cls, folder: Path) -> None:
        """Refuse a folder whose vectors are compared otherwise than by dot products."""
        check_similarity(folder)

    def windows(self, texts: Sequence[str], kind: Kind) -> Iterator[Rows]:
        """Weigh texts a window at a time. Raises ModelError for a weight that is negative or not finite."""
        for weights in self.results(texts, kind):
            text, terms = weights.indices().numpy()
            values = weights.values().numpy()
            if not (values >= 0).all() or not np.isfinite(values).all():
                raise ModelError(f"the model in {self._folder} gives a term a weight that is negative or not finite")
            kept = values > 0
            yield Rows.of(len(weights), text[kept], terms[kept], values[kept])

    def _compute(self, inputs: list[str], kind: Kind) -> Any:
        return self._encode(inputs, kind, save_to_cpu=True).coalesce()

    def _rows(self, inputs: list[str], kind: Kind) -> np.ndarray:
        rows: np.ndarray = self._compute(inputs, kind).to_dense().numpy()
        return rows
