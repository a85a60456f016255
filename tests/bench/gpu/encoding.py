"""The rate of the encoder, packed and padded, beside the rate of the device's matrix products."""

from dataclasses import dataclass
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from beirflow.encoders import tower as tower_module
from beirflow.encoders.encoder import TransformersEncoder

from bench.gpu.arithmetic import flops_per_token, hours_for_beir, nearest_is_own, relative_errors
from bench.gpu.clock import matrix_rate, seconds_of
from bench.gpu.setting import Figures, NotRunError, Setting
from bench.gpu.workload import evenly

WARM_UP, COMPARED = 8192, 1000
"""Texts of the first pass, which is not timed, and of a comparison of vectors."""

TOLERANCE = {"bfloat16": 2.0**-4, "float16": 2.0**-7, "float32": 1e-4}
"""Of the relative error of a vector."""


@dataclass(frozen=True)
class Passes:
    """Timed passes over the same texts.

    Attributes:
        seconds: Of each pass.
        texts: Texts of a pass.
        tokens: Tokens of a pass.
    """

    seconds: list[float]
    texts: int
    tokens: int

    def figures(self) -> Figures:
        """Rates by the median of the passes."""
        middle = median(self.seconds)
        return {
            "documents": self.texts,
            "tokens": self.tokens,
            "seconds": self.seconds,
            "documents_per_second": self.texts / middle,
            "tokens_per_second": self.tokens / middle,
        }


def matrices(setting: Setting) -> Figures:
    """FLOP/s of matrix products in bfloat16, which ours is measured by, and in float32."""
    rates = {"bfloat16": torch.bfloat16, "float32": torch.float32}
    return {name: matrix_rate(setting.device, dtype, setting.matrix, 50) for name, dtype in rates.items()}


def sized(setting: Setting, encoder: TransformersEncoder) -> list[str]:
    """So many of the texts that a pass takes the seconds that were asked for, after a pass that warms up and one to measure."""
    sample = evenly(setting.texts, WARM_UP)
    encoder.encode_corpus(sample)
    taken = seconds_of(lambda: encoder.encode_corpus(sample), setting.device)
    return evenly(setting.texts, max(1, int(len(sample) * setting.seconds / taken)))


def timed_passes(setting: Setting, encoder: TransformersEncoder, texts: list[str]) -> Passes:
    """Encode the same texts some times."""
    before = encoder.tokens
    seconds = [seconds_of(lambda: encoder.encode_corpus(texts), setting.device) for _ in range(setting.passes)]
    return Passes(seconds, len(texts), (encoder.tokens - before) // setting.passes)


def throughput(setting: Setting, rate: float) -> Figures:
    """Our rate; and its share of ``rate``, the FLOP/s of matrix products."""
    encoder = setting.encoder()
    if setting.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    figures: dict[str, Any] = timed_passes(setting, encoder, sized(setting, encoder)).figures()
    flops = flops_per_token(setting.shape, lengths(encoder, evenly(setting.texts, WARM_UP)))
    return figures | {
        "packed": encoder.tower.packed,
        "truncated": encoder.truncated,
        "token_budget": encoder.token_budget,
        "flops_per_token": flops,
        "share_of_matrix_rate": flops * figures["tokens_per_second"] / rate,
        "hours_for_beir": hours_for_beir(figures["documents_per_second"]),
        "peak_device_bytes": torch.cuda.max_memory_allocated() if setting.device.type == "cuda" else None,
    }


def lengths(encoder: TransformersEncoder, texts: list[str]) -> np.ndarray:
    """Tokens of each text as the encoder counts them."""
    return np.array([len(ids) for ids in encoder.tower.backbone.token_ids(list(texts))])


def padding(setting: Setting) -> Figures:
    """The same encoder with padding in place of packing, and how far its vectors are from the packed ones."""
    encoder = setting.encoder()
    if not encoder.tower.packed:
        raise NotRunError("nothing is packed on this device in this precision")
    with patch.object(tower_module, "can_pack", lambda *_: False):
        padded = setting.encoder()
    sample = evenly(setting.texts, COMPARED)
    agreement = agree(encoder.encode_corpus(sample), padded.encode_corpus(sample), setting.precision)
    return timed_passes(setting, padded, sized(setting, padded)).figures() | agreement


def agree(found: np.ndarray, expected: np.ndarray, precision: str) -> Figures:
    """How near vectors are to those of another way to compute them.

    Args:
        found: float32 of shape (n, dim).
        expected: The same texts by the other way.
        precision: What both computed in.

    Returns:
        Figures.

    Raises:
        AssertionError: A vector is further away than the precision explains.
    """
    errors = relative_errors(found, expected)
    if not errors.max() < TOLERANCE[precision]:
        raise AssertionError(f"a vector's relative error is {errors.max():.2g}, more than {TOLERANCE[precision]:.2g}")
    own = nearest_is_own(found, expected)
    return {"relative_error": {"median": float(np.median(errors)), "max": float(errors.max())}, "nearest_is_own": own}
