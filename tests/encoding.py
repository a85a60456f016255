"""Vectors of texts as one array, from the settings of a system or from its encoder."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from beirflow.models.encoders.encoder import Encoder
from beirflow.models.encoders.load import load_encoder
from beirflow.models.settings import EncoderSettings


def loaded(settings: EncoderSettings, kind: Any = "documents", **on: Any) -> Any:
    """The encoder of a kind of text, in float32 on the CPU."""
    return load_encoder(settings, kind, **{"device": "cpu", "precision": "float32", "token_budget": 300, **on})


def vectors_of(encoder: Encoder, texts: Sequence[str], kind: Any = "documents") -> np.ndarray:
    """Float32 of shape (texts, dim)."""
    return np.concatenate(list(encoder.windows(texts, kind)))


def encoded(settings: EncoderSettings, texts: Sequence[str], kind: Any = "documents") -> np.ndarray:
    """The vectors of a system that is loaded for them."""
    return vectors_of(loaded(settings, kind), texts, kind)
