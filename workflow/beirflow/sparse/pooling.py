"""From hidden states to the weights of a vocabulary, without an array of every position and term of a batch.

A term's logit is the product of its row in a matrix with the hidden state of a position. Of these only the maximum over the
positions of a text is needed, or a sum of logarithms. So the product is computed in blocks of texts and terms, each in the same
memory and pooled before the next is made.
"""

from typing import NamedTuple

import torch

CPU_TOKENS, CPU_TERMS = 1024, 512
"""Positions and terms of a block on a CPU, 2 MB in float32, so that its logits are pooled before they leave the caches of two
cores: a third less time than in blocks of 32 MB for hidden states of 128 numbers, and no more for those of 768."""

CUDA_LOGITS = 1 << 27
"""Logits of a block on a GPU, where few large products are fast."""


class Vocabulary(NamedTuple):
    """Function that gives every term of a vocabulary a logit.

    Attributes:
        matrix: Of shape (terms, dim).
        bias: Of shape (terms,), or None.
    """

    matrix: torch.Tensor
    bias: torch.Tensor | None


def pool_terms(
    hidden: torch.Tensor, mask: torch.Tensor, vocabulary: Vocabulary, *, pooling: str = "max", activation: str = "relu"
) -> torch.Tensor:
    """The weight of every term in every text: ``log(1 + relu(logit))``, pooled along the positions.

    Args:
        hidden: Hidden states, of shape (batch, positions, dim).
        mask: 1 for a token and 0 for padding, of shape (batch, positions); every text has a token in its first position.
        vocabulary: What gives terms their logits.
        pooling: ``max`` or ``sum``.
        activation: ``relu``, or ``log1p_relu``, which takes the logarithm twice.

    Returns:
        float32 of shape (batch, terms), on the device of the hidden states; not-a-number where a hidden state is.
    """
    texts, positions, dim = hidden.shape
    terms = len(vocabulary.matrix)
    weights = torch.empty((texts, terms), device=hidden.device)
    # For the maximum, padding repeats the first position, which changes nothing.
    states = torch.where(mask[:, :, None] > 0, hidden, hidden[:, :1]) if pooling == "max" else hidden
    step = max(1, CUDA_LOGITS // (positions * terms) if hidden.is_cuda else CPU_TOKENS // positions)
    tokens = min(step, texts) * positions
    width = min(terms, CUDA_LOGITS // positions if hidden.is_cuda else max(CPU_TERMS, CPU_TERMS * CPU_TOKENS // tokens))
    room = torch.empty(tokens * width, dtype=hidden.dtype, device=hidden.device)
    matrices = torch.split(vocabulary.matrix, width)
    biases = (None,) * len(matrices) if vocabulary.bias is None else torch.split(vocabulary.bias.float(), width)
    for first in range(0, texts, step):
        rows = slice(first, first + step)
        flat = states[rows].reshape(-1, dim)
        for matrix, bias, found in zip(matrices, biases, torch.split(weights[rows], width, dim=1), strict=True):
            shape = flat.shape[0], matrix.shape[0]
            logits = room[: shape[0] * shape[1]].view(shape)
            torch.mm(flat, matrix.T, out=logits)
            of_texts = logits.view(-1, positions, shape[1])
            found.copy_(of_texts.amax(dim=1) if pooling == "max" else _sum(of_texts, mask[rows], bias, activation))
    if pooling == "sum":
        return weights
    # The bias and the logarithm rise with the logit, so that they can wait until there is one a text and term.
    return _activate(weights if vocabulary.bias is None else weights.add_(vocabulary.bias.float()), activation)


def pool_logits(logits: torch.Tensor, mask: torch.Tensor, *, pooling: str = "max", activation: str = "relu") -> torch.Tensor:
    """The same as :func:`pool_terms` from logits that are there already.

    Args:
        logits: Of shape (batch, positions, terms).
        mask: As for :func:`pool_terms`, and so are the others.
        pooling: ``max`` or ``sum``.
        activation: ``relu`` or ``log1p_relu``.

    Returns:
        float32 of shape (batch, terms).
    """
    if pooling == "sum":
        return _sum(logits, mask, None, activation)
    return _activate(torch.where(mask[:, :, None] > 0, logits, logits[:, :1]).amax(dim=1).float(), activation)


def _sum(logits: torch.Tensor, mask: torch.Tensor, bias: torch.Tensor | None, activation: str) -> torch.Tensor:
    """Sums of a block, float32 of shape (texts, terms)."""
    found = logits.float() if bias is None else logits.float() + bias
    return _activate(found, activation).mul_(mask[:, :, None]).sum(dim=1)


def _activate(logits: torch.Tensor, activation: str) -> torch.Tensor:
    logits = logits.relu_().log1p_()
    return logits.log1p_() if activation == "log1p_relu" else logits


def keep_most(weights: torch.Tensor, most: int) -> torch.Tensor:
    """Keep the terms of each text that weigh most; of those that weigh the same, the first ones of the vocabulary.

    Args:
        weights: float32 of shape (batch, terms).
        most: Terms to keep.

    Returns:
        The same with 0 for the others.
    """
    if most >= weights.shape[1]:
        return weights
    last = weights.topk(most, dim=1).values[:, -1:]
    above, tied = weights > last, weights == last
    room = most - above.sum(dim=1, keepdim=True)
    return torch.where(above | (tied & (tied.cumsum(dim=1) <= room)), weights, 0)
