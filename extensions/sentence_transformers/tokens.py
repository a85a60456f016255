"""Vectors of tokens that sentence-transformers itself computes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from beirflow.core.errors import ModelError
from beirflow.data.document_text import Kind
from beirflow.extensions.sentence_transformers.model import PREFIXES, LibraryModel
from beirflow.families.late_interaction.card import COLBERT_CLASS, check_similarity
from beirflow.families.late_interaction.vectors import LONGEST, TokenVectors, with_zeros
from beirflow.models.card_modules import LATE
from beirflow.models.model_json import LIBRARY_CONFIG, read_optional
from beirflow.models.settings import ModelSettings


class LibraryTokens(LibraryModel):
    """A MultiVectorEncoder, for one kind of text; a text without vectors has one of zeros."""

    family = LATE
    library_class = "MultiVectorEncoder"
    types = ("ColBERT",)
    bare = (COLBERT_CLASS,)
    arguments = (*LibraryModel.arguments, *PREFIXES.values())  # settings of late interaction have no prefixes

    def __init__(self, system: ModelSettings, *, kind: Kind, **arguments: Any) -> None:
        super().__init__(system, **arguments)
        self._kind = kind

    @classmethod
    def check_use(cls, folder: Path) -> None:
        """Refuse a folder whose tokens are compared otherwise than by the best match of each."""
        check_similarity(folder, read_optional(folder / LIBRARY_CONFIG))

    def windows(self, texts: Sequence[str]) -> Iterator[TokenVectors]:
        """Encode texts a window at a time, to float16. Raises ModelError for a vector that is not of length 1, nor zeros."""
        for texts_vectors in self.results(texts, self._kind):
            counts = np.array([len(each) for each in texts_vectors], np.int64)
            vectors = np.concatenate(texts_vectors)
            lengths = np.linalg.norm(vectors, axis=1)
            if not ((lengths < 1e-6) | (np.abs(lengths - 1) < LONGEST - 1)).all():
                raise ModelError(f"the model in {self._folder} gives vectors that are not of length 1; only these are searched")
            yield with_zeros(TokenVectors(counts, vectors.astype(np.float16)))

    def _compute(self, inputs: list[str], kind: Kind) -> list[np.ndarray]:
        vectors: list[np.ndarray] = self._encode(inputs, kind, convert_to_numpy=True)
        return vectors
