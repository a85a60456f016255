"""Steps are those of the programs that this training is usually made with, and an encoder learns by them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer, get_linear_schedule_with_warmup

from beirflow.extensions.genq.checkpoint import Checkpoint
from beirflow.extensions.genq.settings import Training
from beirflow.extensions.genq.steps import LARGEST_GRADIENT, WEIGHT_DECAY, optimizer_of, rate, train
from beirflow.extensions.genq.trainee import COSINE_SCALE, Trainee
from beirflow.models.settings import EncoderSettings
from workflow_runs import words

TEXTS = [words(i, 12) for i in range(32)]
QUERIES = [" ".join(text.split()[:4]) for text in TEXTS]
BATCHES = [np.arange(32)[start::4] for start in (0, 1, 2, 3)]


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_weights_are_those_of_plain_torch_and_transformers(tiny_bert: Path, tmp_path: Path, pooling: str) -> None:
    settings = EncoderSettings("base", str(tiny_bert), pooling=pooling, query_prefix="w7 ")
    trainee = Trainee(settings, tiny_bert, "cosine", device="cpu", precision="float32", max_length=10)
    for module in trainee.model.modules():  # whose draws are those of no other program
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    tokens, checkpoint = (trainee.tokens(QUERIES, "queries"), trainee.tokens(TEXTS, "documents")), Checkpoint(tmp_path / "x", {})
    assert tokens[1].lengths.max() == 10
    train(trainee, tokens, np.arange(32), BATCHES, Training("x", learning_rate=1e-3, warmup=0.5), checkpoint, "training")
    plain, tokenizer = AutoModel.from_pretrained(tiny_bert).eval(), AutoTokenizer.from_pretrained(tiny_bert)
    kept = ("bias", "LayerNorm.weight")
    parts: list[list[torch.nn.Parameter]] = [[], []]
    for name, weight in plain.named_parameters():
        parts[name.endswith(kept)].append(weight)
    groups = [{"params": parts[0], "weight_decay": 0.01}, {"params": parts[1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3)
    schedule = get_linear_schedule_with_warmup(optimizer, 2, 4)
    losses = []
    for batch in BATCHES:
        vectors = []
        for prefix, texts in (("w7 ", QUERIES), ("", TEXTS)):
            chosen = [prefix + texts[i] for i in batch]
            encoded = tokenizer(chosen, padding=True, truncation=True, max_length=10, return_tensors="pt")
            hidden, mask = plain(**encoded).last_hidden_state, encoded["attention_mask"][..., None]
            pooled = hidden[:, 0] if pooling == "cls" else (hidden * mask).sum(1) / mask.sum(1)
            vectors.append(torch.nn.functional.normalize(pooled, dim=1))
        loss = torch.nn.functional.cross_entropy(vectors[0] @ vectors[1].T * COSINE_SCALE, torch.arange(8))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(plain.parameters(), LARGEST_GRADIENT)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    assert checkpoint.losses == pytest.approx(losses, rel=1e-4)
    expected = dict(plain.named_parameters())
    began = dict(AutoModel.from_pretrained(tiny_bert).named_parameters())
    for name, weight in trainee.model.named_parameters():
        if not name.endswith("key.bias"):  # on which no score depends: its gradient is nothing but rounding
            torch.testing.assert_close(weight, expected[name], rtol=0, atol=2e-5)
    assert max(float((expected[name] - began[name]).detach().abs().max()) for name in began) > 1e-3


def test_the_rate_rises_and_falls_as_that_of_transformers() -> None:
    for steps, warmup in ((40, 0.1), (7, 0.5), (3, 0.0), (5, 1.0)):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        schedule = get_linear_schedule_with_warmup(optimizer, int(steps * warmup), steps)
        expected = []
        for _ in range(steps):
            expected.append(schedule.get_last_lr()[0])
            optimizer.step()
            schedule.step()
        assert [rate(step, steps, warmup) for step in range(steps)] == expected


def test_biases_and_normalisations_do_not_decay() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.LayerNorm(2))
    decay, other = optimizer_of(model).param_groups
    assert [each.shape for each in decay["params"]] == [(2, 3)]
    assert (decay["weight_decay"], other["weight_decay"], len(other["params"])) == (WEIGHT_DECAY, 0.0, 3)
