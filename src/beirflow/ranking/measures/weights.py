"""Weights of ranks, by the C library: the last bits of numpy's logarithms and powers depend on the processor."""

import math

import numpy as np


def discounts(ranks: int) -> np.ndarray:
    """Return log2(rank + 1) of the ranks from 1, float64 of shape (ranks,)."""
    return np.array([math.log2(rank + 1) for rank in range(1, ranks + 1)])


def powers(base: float, ranks: int) -> np.ndarray:
    """Return base^(rank - 1) of the ranks from 1, float64 of shape (ranks,)."""
    return np.array([base**before for before in range(ranks)])
