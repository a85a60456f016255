"""Check with one short text that a model gives the same vectors alone and in a batch with longer texts.

Attention leaves padding out, as its mask says. What mixes tokens in other ways may not: Fourier transforms, convolutions, hashes.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from beirflow.computing.pooling import pooler_output
from beirflow.files.errors import ModelError

PROBE_TEXT = "a b c d e f g h i"
ADDED = 12
"""Tokens of padding, as far as the model reads them."""

TOLERANCE = {torch.float32: 1e-4, torch.float16: 0.05, torch.bfloat16: 0.15}
"""What padding may change of the vectors of a text's tokens, over their length. all-MiniLM-L6-v2 changes by 1.5e-6, 0.0013 and
0.011; FNet, YOSO and ConvBERT with random weights by 0.3 to 0.8."""


@torch.inference_mode()
def changed_by_padding(
    compute: Callable[[torch.Tensor, torch.Tensor], Any],
    ids: Sequence[int],
    *,
    padding: int,
    longest: int | None,
    device: torch.device,
) -> float:
    """How far the vectors of a text change when it is padded.

    Args:
        compute: Gives the output of a model for ids and mask of shape (batch, tokens).
        ids: Tokens of the text.
        padding: Id to fill with.
        longest: Tokens that the model reads; None for no limit.
        device: Where the model is.

    Returns:
        The length of the change over that of the vectors; 0 for a text without tokens.
    """
    ids = list(ids)[: len(ids) if longest is None else longest // 2]
    if not ids:
        return 0.0
    alone = torch.tensor([ids], device=device)
    padded = torch.tensor([[*ids, *[padding] * ADDED]], device=device)[:, :longest]
    mask = (torch.arange(padded.shape[1], device=device) < len(ids)).long()[None]
    first, second = (_vectors(compute(*texts), len(ids)) for texts in ((alone, torch.ones_like(alone)), (padded, mask)))
    return float((first - second).norm() / first.norm().clamp_min(1e-30))


def check_padding(
    folder: Path,
    compute: Callable[[torch.Tensor, torch.Tensor], Any],
    ids: Sequence[int],
    *,
    padding: int,
    longest: int | None,
    device: torch.device,
    dtype: torch.dtype,
) -> None:
    """Refuse a model that gives a text other vectors when it stands in a batch with longer ones.

    Args:
        folder: Of the model, for the message.
        compute: As for :func:`changed_by_padding`, and so are the others.
        ids: Tokens of a text, such as :data:`PROBE_TEXT`.
        padding: Id to fill with.
        longest: Tokens that the model reads.
        device: Where the model is.
        dtype: What it computes in.

    Raises:
        ModelError: It does.
    """
    apart = changed_by_padding(compute, ids, padding=padding, longest=longest, device=device)
    if apart > TOLERANCE[dtype]:  # not-a-number is told of with the text that has it
        found = f"gives a text different vectors alone and in a batch with longer ones (by a share of {apart:.2g})"
        raise ModelError(f"the model in {folder} {found}, so no vector is the right one")


def _vectors(output: Any, tokens: int) -> torch.Tensor:
    """The vectors of the first tokens of the first text, or the one of the text."""
    found = None if isinstance(output, torch.Tensor) else getattr(output, "last_hidden_state", None)
    return (pooler_output(output) if found is None else found[0, :tokens]).float()
