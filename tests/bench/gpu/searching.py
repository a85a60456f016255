"""Exact search of one chunk on the device."""

from functools import partial
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np
import torch

from bench.gpu.clock import seconds_of
from bench.gpu.setting import Figures, NotRunError, Setting

K = 1000
CHECKED_QUERIES, CHECKED_DOCUMENTS = 100, 50_000


def vectors(rng: np.random.Generator, count: int, dim: int) -> np.ndarray:
    """Directions that are equally likely; float32 of shape (count, dim)."""
    found = rng.standard_normal((count, dim), dtype=np.float32)
    return np.divide(found, np.linalg.norm(found, axis=1, keepdims=True), out=found)


def searching(setting: Setting) -> Figures:
    """Times to search as many documents as there are texts; and whether a part of them gives what it gives on the CPU."""
    if find_spec("pyarrow") is None:
        raise NotRunError("pyarrow is not installed")
    rng = np.random.default_rng(2)
    documents, queries = (vectors(rng, count, setting.shape.dim) for count in (len(setting.texts), setting.queries))
    documents[-len(documents) // 100 :] = documents[: len(documents[-len(documents) // 100 :])]
    order = rng.permutation(len(documents))
    check(queries[:CHECKED_QUERIES], documents[-CHECKED_DOCUMENTS:], order[-CHECKED_DOCUMENTS:], setting.device)
    run = partial(top_k, queries, documents, order, setting.device)
    run()
    seconds = [seconds_of(run, setting.device) for _ in range(setting.passes)]
    return {
        "documents": len(documents),
        "queries": len(queries),
        "k": K,
        "seconds": seconds,
        "median_seconds": median(seconds),
        "peak_device_bytes": torch.cuda.max_memory_allocated() if setting.device.type == "cuda" else None,
        "checked": f"{min(len(queries), CHECKED_QUERIES)} queries and {min(len(documents), CHECKED_DOCUMENTS)} documents",
    }


def top_k(queries: np.ndarray, documents: np.ndarray, order: np.ndarray, device: torch.device) -> Any:
    """What ``search_chunk`` computes."""
    from beirflow.dense.top_k import exact_top_k

    nothing = np.full(len(queries), -1)
    return exact_top_k(queries, documents, order, K, similarity="dot", excluded=nothing, device=device)


def check(queries: np.ndarray, documents: np.ndarray, order: np.ndarray, device: torch.device) -> None:
    """Compare with the CPU: the same documents, in the same order, with the same scores."""
    on_device, on_cpu = (top_k(queries, documents, order, place) for place in (device, torch.device("cpu")))
    for name, found, expected in zip(("queries", "documents", "scores"), on_device, on_cpu, strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=f"{name} differ from the CPU's")
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
