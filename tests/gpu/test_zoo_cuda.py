"""Encoders of every kind have the vectors of the CPU, with all that is behind their transformer."""

from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("sentence_transformers", reason="models of sentence-transformers")

from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.settings import EncoderSettings
from vocabulary import WORDS
from zoo import KINDS

OF_MODULES = (
    "RoBERTa, cls, Dense, LayerNorm, lower case (ANCE)",
    "Dense with a residual",
    "two towers of transformers (Router)",
)
"""Kinds that show how modules behind the pooling are called; a real device computes all."""


@pytest.mark.parametrize("kind", KINDS if torch.cuda.is_available() else OF_MODULES)
def test_vectors_are_those_of_the_cpu(tmp_path: Path, kind: str) -> None:
    torch.manual_seed(0)
    folder, rng = KINDS[kind](tmp_path / "model"), np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, length)) for length in rng.integers(1, 25, 24)]

    def vectors(device: str) -> list[np.ndarray]:
        how = {"device": device, "precision": "float32", "token_budget": 100}
        encoder = TransformersEncoder(EncoderSettings(name="zoo", model=str(folder)), folder, **how)  # type: ignore[arg-type]
        return [encoder.encode_queries(texts), encoder.encode_corpus(texts)]

    for found, expected in zip(vectors("cuda"), vectors("cpu"), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.linalg.norm(expected, axis=1).max())
