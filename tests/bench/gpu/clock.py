"""Times on a device, and the rate of its matrix products."""

import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import Any

import torch


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


def matrix_rate(device: torch.device, dtype: torch.dtype, size: int, repetitions: int) -> float:
    """FLOP/s of products of two square matrices of random numbers, median of single products after some to warm up.

    Args:
        device: Where.
        dtype: Of the matrices.
        size: Rows and columns.
        repetitions: Products that are timed, by events on CUDA.

    Returns:
        FLOP/s, two a multiplication with its addition.
    """
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    for _ in range(max(1, repetitions // 5)):
        left @ right
    timed = _events if device.type == "cuda" else _in_turn
    return 2 * size**3 / median(timed(left, right, repetitions))


def _events(left: torch.Tensor, right: torch.Tensor, repetitions: int) -> list[float]:
    """Seconds of each product, measured on the device."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(repetitions + 1)]
    events[0].record()
    for event in events[1:]:
        left @ right
        event.record()
    torch.cuda.synchronize()
    return [before.elapsed_time(after) / 1000 for before, after in pairwise(events)]


def _in_turn(left: torch.Tensor, right: torch.Tensor, repetitions: int) -> list[float]:
    """Seconds of each product where the host computes."""
    return [seconds_of(lambda: left @ right, left.device) for _ in range(repetitions)]
