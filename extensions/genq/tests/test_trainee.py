"""The loss is that of sentence-transformers, in the precision that is asked for."""

from pathlib import Path

import numpy as np
import pytest
import torch

from beirflow.extensions.genq.trainee import COSINE_SCALE, Trainee, in_batch_loss
from beirflow.models.settings import EncoderSettings
from workflow_runs import words

TEXTS = [words(20 + i, 9 + 3 * i) for i in range(5)]


def vectors(seed: int) -> torch.Tensor:
    return torch.randn((5, 8), generator=torch.Generator().manual_seed(seed), requires_grad=True)


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_loss_and_gradients_are_those_of_sentence_transformers(similarity: str) -> None:
    library = pytest.importorskip("sentence_transformers.sentence_transformer")
    util = pytest.importorskip("sentence_transformers.util")
    losses, scores = pytest.importorskip(f"{library.__name__}.losses"), {"dot": util.dot_score, "cosine": util.cos_sim}
    scale = {"dot": 1.0, "cosine": COSINE_SCALE}[similarity]
    theirs = losses.MultipleNegativesRankingLoss(torch.nn.Identity(), scale=scale, similarity_fct=scores[similarity])
    found = []
    for compute in (lambda a, b: in_batch_loss(a, b, similarity), lambda a, b: theirs.compute_loss_from_embeddings([a, b], None)):
        both = vectors(0), vectors(1)
        loss = compute(*both)
        loss.backward()
        found.append([loss.detach(), *(each.grad for each in both)])
    for ours, other in zip(*found, strict=True):
        torch.testing.assert_close(ours, other, rtol=1e-5, atol=1e-6)


def test_bfloat16_computes_products_in_it_and_float16_is_float32(tiny_bert: Path) -> None:
    settings = EncoderSettings("base", str(tiny_bert), pooling="mean")
    losses = {}
    for precision in ("float32", "bfloat16", "float16"):
        trainee = Trainee(settings, tiny_bert, "cosine", device="cpu", precision=precision, max_length=350)
        assert {each.dtype for each in trainee.model.parameters()} == {torch.float32}
        trainee.model.eval()
        tokens, order = trainee.tokens(TEXTS, "documents"), np.arange(5)
        losses[trainee.precision, precision] = trainee.loss(tokens, tokens, (order, order[::-1].copy())).item()
    assert list(losses) == [("float32", "float32"), ("bfloat16", "bfloat16"), ("float32", "float16")]
    whole, lower, other = losses.values()
    assert whole == other != lower
    assert lower == pytest.approx(whole, rel=0.05)
