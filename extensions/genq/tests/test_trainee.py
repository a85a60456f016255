"""The loss is that of its definition and of sentence-transformers, and its gradients are those of the plain model."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from beirflow.extensions.genq.trainee import COSINE_SCALE, Trainee, in_batch_loss
from beirflow.models.settings import EncoderSettings
from workflow_runs import words

QUERIES = [words(i, 3 + i) for i in range(5)]
TEXTS = [words(20 + i, 9 + 3 * i) for i in range(5)]


def vectors(seed: int) -> torch.Tensor:
    return torch.randn((5, 8), generator=torch.Generator().manual_seed(seed), requires_grad=True)


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_the_loss_is_the_mean_of_what_each_query_lacks(similarity: str) -> None:
    queries, documents = (vectors(seed).detach().double().numpy() for seed in (0, 1))
    if similarity == "cosine":
        queries, documents = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (queries, documents))
    scores = queries @ documents.T * (COSINE_SCALE if similarity == "cosine" else 1)
    expected = np.mean(np.log(np.exp(scores).sum(axis=1)) - np.diag(scores))
    assert in_batch_loss(vectors(0), vectors(1), similarity).item() == pytest.approx(expected, rel=1e-6)


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


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_gradients_are_those_of_the_plain_model(tiny_bert: Path, pooling: str) -> None:
    settings = EncoderSettings("base", str(tiny_bert), pooling=pooling, query_prefix="w7 ")
    trainee = Trainee(settings, tiny_bert, "dot", device="cpu", precision="float32", max_length=16)
    trainee.model.eval()  # without dropout, whose draws are those of no other program
    tokens = trainee.tokens(QUERIES, "queries"), trainee.tokens(TEXTS, "documents")
    assert tokens[1].lengths.max() == 16
    order = np.array([3, 0, 1])
    trainee.loss(*tokens, (order, order)).backward()

    plain, tokenizer = AutoModel.from_pretrained(tiny_bert).eval(), AutoTokenizer.from_pretrained(tiny_bert)
    found = []
    for texts in ([f"w7 {QUERIES[i]}" for i in order], [TEXTS[i] for i in order]):
        batch = tokenizer(texts, padding=True, truncation=True, max_length=16, return_tensors="pt")
        hidden, mask = plain(**batch).last_hidden_state, batch["attention_mask"][..., None]
        found.append(hidden[:, 0] if pooling == "cls" else (hidden * mask).sum(1) / mask.sum(1))
    torch.nn.functional.cross_entropy(found[0] @ found[1].T, torch.arange(3)).backward()
    expected = {name: each.grad for name, each in plain.named_parameters() if each.grad is not None}
    ours = {name: each.grad for name, each in trainee.model.named_parameters() if each.grad is not None}
    assert ours.keys() == expected.keys()
    assert len(ours) > 30
    for name, gradient in expected.items():
        torch.testing.assert_close(ours[name], gradient, rtol=1e-4, atol=1e-6)


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
