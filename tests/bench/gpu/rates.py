"""Times on a device, the rate of its matrix products, and from times to shares and hours."""

import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import torch

from bench.gpu.workload import Shape

BEIR_DOCUMENTS = 33.86e6
"""Documents of BEIR's public datasets together."""


def seconds_of(call: Callable[[], Any], device: torch.device) -> float:
    """Seconds until a call has returned and the device has nothing left to do."""
    finish(device)
    start = time.perf_counter()
    call()
    finish(device)
    return time.perf_counter() - start


def finish(device: torch.device) -> None:
    """Wait for the device."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def peak_bytes(device: torch.device) -> int | None:
    """Most memory of the device that was allocated; None where it is the host's."""
    return torch.cuda.max_memory_allocated() if device.type == "cuda" else None


def matrix_rate(device: torch.device, dtype: torch.dtype, size: int, repetitions: int) -> float:
    """FLOP/s, two a multiplication with its addition, of products of square random matrices: median of single products."""
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    for _ in range(max(1, repetitions // 5)):  # to warm up
        left @ right
    if device.type != "cuda":
        return 2 * size**3 / median(seconds_of(lambda: left @ right, device) for _ in range(repetitions))
    events = [torch.cuda.Event(enable_timing=True) for _ in range(repetitions + 1)]
    events[0].record()
    for event in events[1:]:
        left @ right
        event.record()
    torch.cuda.synchronize()
    return 2 * size**3 / median(before.elapsed_time(after) / 1000 for before, after in pairwise(events))


def matrix_parameters(shape: Shape) -> int:
    """Parameters of the matrices that every token is multiplied with: query, key, value, output, and the two of the inner layer.

    Embeddings are looked up, biases and norms are not matrices, and the pooler sees one token a text.
    """
    return shape.layers * (4 * shape.dim**2 + 2 * 4 * shape.dim**2)


def flops_per_token(shape: Shape, counts: np.ndarray) -> float:
    """Floating-point operations a token, mean over all tokens of texts with these numbers of tokens.

    Twice the parameters of the matrices, and 4 x layers x dim x length of the text for the products of the attention: queries
    with keys, and weights with values. This is the forward third of 6 N + 12 L H Q T of PaLM's appendix B (Chowdhery et al. 2022,
    arXiv:2204.02311); N and the products alone count, not softmax, norms and activations.
    """
    # The mean over tokens of a text's length is the sum of squares over the sum.
    seen = float((counts.astype(np.float64) ** 2).sum() / counts.sum())
    return 2 * matrix_parameters(shape) + 4 * shape.layers * shape.dim * seen


def hours_for_beir(documents_per_second: float) -> float:
    """Hours to encode all documents of BEIR at such a rate."""
    return BEIR_DOCUMENTS / documents_per_second / 3600
