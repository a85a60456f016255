"""From the vectors of a text's tokens to one vector.

The modes are those of sentence-transformers (``models.Pooling``), and ``pooler``, the model's own. Sums are accumulated in
float32 whatever the model computes in.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from beirflow.core.errors import ModelError


def pool(modes: Sequence[str], output: Any, mask: torch.Tensor) -> torch.Tensor:
    """Pool the tokens of each text of a padded batch to float32 of shape (batch, dim), or (batch, modes · dim).

    Args:
        modes: One or several of ``mean``, ``cls``, ``max``, ``mean_sqrt_len_tokens``, ``weightedmean``, ``lasttoken`` and
            ``pooler``; the vectors of several are concatenated.
        output: Output of a transformers model, with hidden state of shape (batch, tokens, dim); texts begin in the first column.
        mask: 1 for a token and 0 for padding, shape (batch, tokens).

    Returns:
        The vectors.

    Raises:
        ModelError: The model gives no vectors of tokens.
    """
    if list(modes) == ["pooler"]:
        return pooler_output(output).float()
    hidden = getattr(output, "last_hidden_state", None)
    if hidden is None:
        raise ModelError(f"the model gives one vector per text and none per token, so pooling cannot be {modes[0]!r}; use pooler")
    kept = mask.bool()
    vectors = [pooler_output(output).float() if mode == "pooler" else _pool(mode, hidden, kept) for mode in modes]
    return vectors[0] if len(vectors) == 1 else torch.cat(vectors, dim=1)


def pooler_output(output: Any) -> torch.Tensor:
    """Return the vector that a model itself makes of a text."""
    vectors = output if isinstance(output, torch.Tensor) else getattr(output, "pooler_output", None)
    vectors = getattr(output, "text_embeds", None) if vectors is None else vectors
    if vectors is None:
        raise ModelError("pooling is 'pooler', but the model gives no vector of its own; use mean or cls")
    return vectors


def _pool(mode: str, hidden: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
    """Pool by one mode over the kept tokens: hidden of shape (batch, tokens, dim), kept bool of shape (batch, tokens)."""
    if mode == "cls":
        return hidden[:, 0].float()
    if mode == "lasttoken":
        return hidden[torch.arange(len(hidden), device=hidden.device), kept.sum(dim=1) - 1].float()
    if mode == "max":
        return hidden.float().masked_fill(~kept[:, :, None], -torch.inf).amax(dim=1)
    masked = hidden.float().masked_fill(~kept[:, :, None], 0.0)
    if mode == "weightedmean":
        weights = kept * torch.arange(1, kept.shape[1] + 1, device=kept.device, dtype=torch.float32)
        return (masked * weights[:, :, None]).sum(dim=1) / weights.sum(dim=1, keepdim=True).clamp(min=1e-9)
    count = kept.sum(dim=1, keepdim=True).clamp(min=1e-9)
    return masked.sum(dim=1) / (count.sqrt() if mode == "mean_sqrt_len_tokens" else count)


def pool_packed(modes: Sequence[str], output: Any, bounds: torch.Tensor, pooler: torch.nn.Module | None) -> torch.Tensor:
    """Pool texts that are packed end to end in one sequence, as :func:`pool`.

    The hidden state has the shape (1, tokens, dim); ``bounds`` are the starts of n texts and the end of the last, int32 of shape
    (n + 1,); the model's own ``pooler`` reads the first token of each of a batch of sequences.
    """
    hidden = output.last_hidden_state[0]
    if list(modes) == ["mean"]:
        return torch.segment_reduce(hidden.float(), "mean", offsets=bounds.long(), axis=0)
    if list(modes) == ["cls"]:
        return hidden[bounds[:-1].long()].float()
    if list(modes) == ["lasttoken"]:
        return hidden[bounds[1:].long() - 1].float()
    if list(modes) == ["pooler"] and pooler is not None:
        return pooler(hidden[bounds[:-1].long()][:, None]).float()
    texts = torch.split(hidden, bounds.diff().tolist())
    lengths = bounds.diff()
    mask = torch.arange(int(lengths.max()), device=hidden.device) < lengths[:, None]
    padded = type(output)(last_hidden_state=pad_sequence(list(texts), batch_first=True))
    return pool(modes, padded, mask)
