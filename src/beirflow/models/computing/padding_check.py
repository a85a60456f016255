"""Check with short texts that a model gives a text the same numbers alone and in a batch with longer texts.

Attention leaves padding out, as its mask says. What mixes tokens in other ways may not: Fourier transforms, convolutions, hashes,
and heads that read the last position of a batch.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from beirflow.core.errors import ModelError
from beirflow.models.computing.batching import Tokens
from beirflow.models.computing.failing import in_words

PROBE_TEXT = "a b c d e f g h i"
ADDED = 12  # tokens by which the longest text of the batch exceeds the probe, as far as the model reads them

TOLERANCE = {torch.float32: 1e-4, torch.float16: 0.05, torch.bfloat16: 0.1}
"""Largest change by padding, relative to the length of all vectors. all-MiniLM-L6-v2 changes by 1.0e-6, 0.0010 and 0.0093; FNet,
YOSO and ConvBERT with random weights by 0.14 to 0.55."""

Compute = Callable[[Tokens], torch.Tensor | np.ndarray]
"""Computes what a system uses of each text of a batch, text by text along the first dimension."""


@torch.inference_mode()
def changed_by_padding(compute: Compute, ids: Sequence[int], longest: int | None) -> float:
    """Measure the change of a system's output when texts are computed in one batch instead of alone.

    ``compute`` is the whole computation with its padding, ``ids`` a text such as :data:`PROBE_TEXT`, ``longest`` the tokens that
    the model reads, None for no limit. Returns the length of the change over that of all vectors; 0 for a text without tokens.
    """
    ids = list(ids)[: len(ids) if longest is None else longest // 2]
    if not ids:
        return 0.0
    # Three lengths: in the batch, two of the texts are padded by different numbers of tokens.
    longer = (ids * (1 + ADDED))[: len(ids) + ADDED][:longest]
    texts = [ids, ids[: -(-len(ids) // 2)], longer]
    with in_words(len(longer)):
        alone = np.concatenate([_on_host(compute(Tokens.of(0, [text]))) for text in texts])
        together = _on_host(compute(Tokens.of(0, texts)))
    return float(np.linalg.norm(together - alone)) / max(float(np.linalg.norm(alone)), 1e-30)


def check_padding(folder: Path, compute: Compute, ids: Sequence[int], *, longest: int | None, dtype: torch.dtype) -> None:
    """Refuse a model that gives a text other numbers in a batch with longer ones, see :func:`changed_by_padding`."""
    apart = changed_by_padding(compute, ids, longest)
    if apart > TOLERANCE[dtype]:  # not-a-number passes: it is reported with the text that has it
        problem = f"gives a text different vectors alone and in a batch with longer ones (by a share of {apart:.2g})"
        raise ModelError(f"the model in {folder} {problem}, so no vector is the right one")


def _on_host(numbers: torch.Tensor | np.ndarray) -> np.ndarray:
    """Convert to float64, for a difference that does not overflow."""
    return (numbers.float().cpu().numpy() if isinstance(numbers, torch.Tensor) else numbers).astype(np.float64)
