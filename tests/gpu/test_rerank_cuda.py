"""On a GPU pairs have the scores of the CPU, but for rounding, whichever kind of model scores them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beirflow.families.dense.settings import DenseSettings
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.rerank.scorers.load import load_scorer
from beirflow.families.rerank.settings import RerankSettings
from tiny_answers import save_tiny_monot5, save_tiny_qwen3
from tiny_bert import WORDS, save_tiny_bert
from tiny_colbert import save_colbert
from tiny_cross_encoder import save_cross_encoder

PAIRS = [(" ".join(WORDS[i : i + 4]), " ".join(WORDS[2 * i : 2 * i + 1 + i % 40])) for i in range(40)]


@pytest.mark.parametrize("save", [save_cross_encoder, save_tiny_monot5, save_tiny_qwen3, save_tiny_bert, save_colbert])
def test_scores_are_those_of_the_cpu(tmp_path: Path, save: Callable[[Path], Path]) -> None:
    model = str(save(tmp_path / "model"))
    dense = DenseSettings("mine", model, pooling="mean", similarity="dot") if save is save_tiny_bert else None
    late = LateSettings("mine", model) if save is save_colbert else None
    kinds: dict[Callable[[Path], Path], Any] = {save_tiny_monot5: "monot5", save_tiny_qwen3: "qwen3-reranker"}
    settings = RerankSettings("again", model, first="bm25", kind=kinds.get(save), dense=dense, late=late)

    def scores(device: str, precision: str) -> np.ndarray:
        return load_scorer(settings, device=device, precision=precision, token_budget="auto").scores(PAIRS)

    expected = scores("cpu", "float32")
    np.testing.assert_allclose(scores("cuda", "float32"), expected, rtol=2e-3, atol=1e-3)
    assert np.corrcoef(scores("cuda", "auto"), expected)[0, 1] > 0.97
