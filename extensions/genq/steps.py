"""The steps of a training: AdamW, a learning rate that rises and falls, reproducible dropout."""

import math
import time
from collections.abc import Sequence

import numpy as np
import torch

from beirflow.core.errors import ModelError
from beirflow.core.progress import Progress
from beirflow.extensions.genq.checkpoint import Checkpoint
from beirflow.extensions.genq.settings import Training
from beirflow.extensions.genq.trainee import Trainee
from beirflow.models.computing.batching import Tokens

WEIGHT_DECAY = 0.01  # of matrices; biases and the weights of normalisations have none, as sentence-transformers trains
LARGEST_GRADIENT = 1.0  # length that the gradient of all weights together is cut to


def rate(step: int, steps: int, warmup: float) -> float:
    """Return the share of the learning rate for a step, from 0.

    It rises from 0 to 1 in the share ``warmup`` of the steps, and falls to 0 behind the last, each in a straight line.
    """
    rising = int(steps * warmup)
    return step / rising if step < rising else (steps - step) / max(1, steps - rising)


def optimizer_of(model: torch.nn.Module) -> torch.optim.AdamW:
    """Return AdamW for the weights of a model, with the defaults of torch except for the decay."""
    named = list(model.named_parameters())
    plain = [each for name, each in named if name.endswith("bias") or each.ndim < 2]
    others = [each for name, each in named if not (name.endswith("bias") or each.ndim < 2)]
    groups = [{"params": others, "weight_decay": WEIGHT_DECAY}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups)


def train(
    trainee: Trainee,
    texts: tuple[Tokens, Tokens],
    documents: np.ndarray,
    batches: Sequence[np.ndarray],
    training: Training,
    checkpoint: Checkpoint,
    title: str,
) -> None:
    """Train an encoder, from the step of the checkpoint.

    ``texts`` are the tokens of the queries of all pairs, and of the documents; ``documents`` the place of each pair's document,
    int64 of shape (pairs,); ``batches`` the pairs of each step. Raises ModelError for a loss or gradient that is not finite.
    """
    optimizer = optimizer_of(trainee.model)
    checkpoint.restore(trainee.model, optimizer)
    first = len(checkpoint.losses)
    with Progress(title, sum(map(len, batches[first:])), "pairs") as progress:
        for step in range(first, len(batches)):
            start = time.perf_counter()
            for group in optimizer.param_groups:
                group["lr"] = training.learning_rate * rate(step, len(batches), training.warmup)
            # Of a step, and not of those before it: so nothing of the generator needs to be kept.
            torch.manual_seed(int(np.random.SeedSequence([training.seed, step]).generate_state(1, np.uint64)[0] >> 1))
            pairs = batches[step]
            loss = trainee.loss(*texts, (pairs, documents[pairs]))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            length = torch.nn.utils.clip_grad_norm_(trainee.model.parameters(), LARGEST_GRADIENT)
            batch_loss = float(loss.detach())
            if not (math.isfinite(batch_loss) and math.isfinite(float(length))):
                told = f"the loss of step {step + 1} of {len(batches)} is {batch_loss}, its gradient {float(length)}"
                raise ModelError(f"{title}: {told}; lower train.learning_rate, or use precision float32")
            optimizer.step()
            checkpoint.add(batch_loss, time.perf_counter() - start, trainee.model, optimizer)
            progress.advance(len(pairs))
