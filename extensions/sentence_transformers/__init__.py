"""Models that sentence-transformers itself computes, in place of beirflow: ``encoder: sentence-transformers``."""

from pathlib import Path

from beirflow.core.extensions import Extension
from beirflow.models.settings import LIBRARY

_HERE = "beirflow.extensions.sentence_transformers"

EXTENSION = Extension(
    folder=Path(__file__).parent,
    encoders={
        LIBRARY: {
            "dense": f"{_HERE}.model:SentenceTransformersModel",
            "late-interaction": f"{_HERE}.tokens:LibraryTokens",
            "rerank": f"{_HERE}.pairs:LibraryPairs",
            "sparse": f"{_HERE}.terms:LibraryWeigher",
        }
    },
)
