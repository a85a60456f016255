"""The rate and the weights that decay are those of the programs that this training is usually made with."""

import torch
from beirflow.training.steps import WEIGHT_DECAY, optimizer_of, rate
from transformers import get_linear_schedule_with_warmup


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
