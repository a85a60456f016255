"""Pooling: from one vector a token to one vector a text, which has at least one token."""

from typing import Any

import torch


def pool(pooling: str, output: Any, mask: torch.Tensor) -> torch.Tensor:
    """Pool the last hidden state of a model.

    Args:
        pooling: ``mean`` over all unmasked tokens, special tokens included; ``cls``, the first token; or ``pooler``, the
            model's own pooler.
        output: What a transformers model returns; its hidden state has the shape (batch, tokens, dim).
        mask: 1 for a token and 0 for padding, shape (batch, tokens).

    Returns:
        float32 of shape (batch, dim). The mean is accumulated in float32 whatever the model computes in.
    """
    if pooling == "pooler":
        return output.pooler_output.float()
    hidden = output.last_hidden_state
    if pooling == "cls":
        return hidden[:, 0].float()
    kept = hidden.float().masked_fill(mask[:, :, None] == 0, 0.0)
    return kept.sum(dim=1) / mask.sum(dim=1, keepdim=True)


def pool_packed(pooling: str, output: Any, bounds: torch.Tensor, pooler: torch.nn.Module | None) -> torch.Tensor:
    """The same for texts that are packed end to end in one sequence.

    Args:
        pooling: As for :func:`pool`.
        output: What a transformers model returns; its hidden state has the shape (1, tokens, dim).
        bounds: Where each of n texts begins, and where the last ends, int32 of shape (n + 1,).
        pooler: The model's own pooler, which reads the first token of each of a batch of sequences.

    Returns:
        float32 of shape (n, dim).
    """
    hidden = output.last_hidden_state[0]
    if pooling == "mean":
        return torch.segment_reduce(hidden.float(), "mean", offsets=bounds.long(), axis=0)
    first = hidden[bounds[:-1].long()]
    if pooling == "pooler" and pooler is not None:
        first = pooler(first[:, None])
    return first.float()
