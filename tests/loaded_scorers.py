"""Rerankers as a job loads them, and the scores that sentence-transformers gives."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from beirflow.families.rerank.scorers.load import load_scorer
from beirflow.families.rerank.scorers.pair_scorer import PairScorer
from beirflow.families.rerank.settings import RerankSettings

ROUNDING = {"rtol": 1e-5, "atol": 1e-5}


def loaded(folder: Path, precision: str = "float32", budget: int | str = "auto", **settings: Any) -> PairScorer:
    system = RerankSettings("crossed", str(folder), first="bm25", **settings)
    scorer = load_scorer(system, device="cpu", precision=precision, token_budget=budget)
    assert isinstance(scorer, PairScorer)
    return scorer


def by_sentence_transformers(folder: Path, pairs: list[tuple[str, str]], *, alone: bool = False, **how: Any) -> np.ndarray:
    """Logits, of each pair by itself or of batches; with two labels, those of the second minus those of the first."""
    from sentence_transformers import CrossEncoder

    peer = CrossEncoder(str(folder), device="cpu", local_files_only=True, activation_fn=torch.nn.Identity())
    batches = [[pair] for pair in pairs] if alone else [pairs]
    logits = np.concatenate([peer.predict(batch, show_progress_bar=False, **how) for batch in batches])
    return logits if logits.ndim == 1 else logits[:, 1] - logits[:, 0]


def check_scores(folder: Path, pairs: list[tuple[str, str]], *, alone: bool = False, spread: float = 0.1, **how: Any) -> None:
    """Compare scores with those of sentence-transformers, which have to differ between the pairs."""
    found, expected = loaded(folder, **how).scores(pairs), by_sentence_transformers(folder, pairs, alone=alone)
    assert found.dtype == np.float32
    assert np.ptp(expected) > spread
    np.testing.assert_allclose(found, expected, **ROUNDING)
