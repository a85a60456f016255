"""On a GPU an encoder learns as on the CPU, but for roundings."""

from pathlib import Path

import numpy as np
import pytest
import torch

from beirflow.extensions.genq.checkpoint import Checkpoint
from beirflow.extensions.genq.settings import Training
from beirflow.extensions.genq.steps import train
from beirflow.extensions.genq.trainee import Trainee
from beirflow.models.settings import EncoderSettings
from tiny_bert import WORDS

TEXTS = [" ".join(WORDS[i : i + 2 + i % 30]) for i in range(64)]


def losses(base: Path, folder: Path, device: str, precision: str) -> list[float]:
    trainee = Trainee(
        EncoderSettings("base", str(base), pooling="cls"), base, "cosine", device=device, precision=precision, max_length=32
    )
    for module in trainee.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0  # whose draws are others on a GPU
    texts = trainee.tokens([text[:9] for text in TEXTS], "queries"), trainee.tokens(TEXTS, "documents")
    checkpoint, batches = Checkpoint(folder / f"{device}-{precision}.pt", {}), np.arange(64).reshape(8, 8)
    train(trainee, texts, np.arange(64), list(batches), Training({"model": "x"}, learning_rate=1e-3), checkpoint, "training")
    return checkpoint.losses


def test_losses_are_those_of_the_cpu(tiny_bert: Path, tmp_path: Path) -> None:
    expected = losses(tiny_bert, tmp_path, "cpu", "float32")
    assert losses(tiny_bert, tmp_path, "cuda", "float32") == pytest.approx(expected, rel=1e-3)
    assert losses(tiny_bert, tmp_path, "cuda", "bfloat16") == pytest.approx(expected, rel=0.2)
