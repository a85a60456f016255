"""Every kind of encoder, with nothing said but where it is, against sentence-transformers."""

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from beirflow.models.model_files import model_card
from beirflow.models.settings import EncoderSettings
from encoding import encoded
from tiny_bert import WORDS
from zoo import KINDS

RNG = np.random.default_rng(5)
TEXTS = [
    *(" ".join(RNG.choice(WORDS, length)) for length in (5, 1, 17, 9, 100, 33, 2, 64)),
    "",
    "   ",
    "\n\nw1\tw2\n",
    " W1 w2, w3! W3 ",
    "[SEP] w4 [CLS] [PAD] w5",
    "unknown wörds 漢字 w6",
]


def apart(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference of a component, over the largest component."""
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_has_the_vectors_and_the_similarity_that_its_card_means(kind: str, tmp_path: Path) -> None:
    folder = KINDS[kind](tmp_path)
    reference = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    settings = EncoderSettings(name="mine", model=str(folder))
    assert apart(encoded(settings, TEXTS, "queries"), reference.encode_query(TEXTS)) < 1e-5
    assert apart(encoded(settings, TEXTS), reference.encode_document(TEXTS)) < 1e-5
    assert model_card(settings).similarity == reference.similarity_fn_name
