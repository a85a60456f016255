"""Exact late interaction on the device: the search of a chunk of token vectors, and what that means for MS MARCO."""

from functools import partial
from importlib.util import find_spec
from statistics import median

import numpy as np
import torch

from bench.gpu.clock import seconds_of
from bench.gpu.setting import Figures, NotRunError, Setting
from bench.gpu.workload import token_counts

DIM, OF_A_QUERY, K = 128, 32, 1000
CHUNK = 50_000
"""Documents of a chunk: 1.2 GB of vectors."""

LONGEST = 180
"""Tokens of a document, as in ColBERT's runs on MS MARCO."""

CHECKED_QUERIES, CHECKED_DOCUMENTS = 8, 500
MSMARCO_QUERIES, MSMARCO_DOCUMENTS = 6980, 8_841_823


def late(setting: Setting) -> Figures:
    """Times to search a chunk with as many queries as MS MARCO has; and whether a part of it gives what it gives on the CPU.

    MS MARCO takes as many times longer as it has documents and queries: the search compares every token with every token.
    """
    if find_spec("pyarrow") is None:
        raise NotRunError("pyarrow is not installed")
    from beirflow.late.vectors import Segment, TokenVectors

    rng = np.random.default_rng(3)
    counts = token_counts(min(CHUNK, len(setting.texts)), LONGEST, seed=3)
    number = MSMARCO_QUERIES if setting.device.type == "cuda" else setting.queries
    documents, queries = (TokenVectors(each, _vectors(rng, int(each.sum()))) for each in (counts, np.full(number, OF_A_QUERY)))

    def segments(of: TokenVectors) -> list[Segment]:
        rows = np.arange(len(of.counts), dtype=np.int32)
        parts = np.array_split(rows, max(1, len(of.vectors) >> 17))  # as many as a file would have
        return [Segment(of.take(part), part, np.arange(len(part), dtype=np.int32)) for part in parts]

    some = np.arange(min(CHECKED_QUERIES, number)), np.arange(len(counts))[-CHECKED_DOCUMENTS:]
    _check(queries.take(some[0]), segments(documents.take(some[1])), setting.device)
    run = partial(_top_k, queries, segments(documents), setting.device)
    run()
    seconds = [seconds_of(run, setting.device) for _ in range(setting.passes)]
    middle, pairs = median(seconds), number * len(counts)
    return {
        "documents": len(counts),
        "queries": number,
        "mean_tokens": float(counts.mean()),
        "seconds": seconds,
        "median_seconds": middle,
        "flops_per_second": 2 * DIM * OF_A_QUERY * number * float(counts.sum()) / middle,
        "minutes_for_msmarco": middle / pairs * MSMARCO_QUERIES * MSMARCO_DOCUMENTS / 60,
        "peak_device_bytes": torch.cuda.max_memory_allocated() if setting.device.type == "cuda" else None,
        "checked": f"{len(some[0])} queries and {len(some[1])} documents",
    }


def _vectors(rng: np.random.Generator, count: int) -> np.ndarray:
    """Directions that are equally likely; float16 of shape (count, DIM)."""
    found = rng.standard_normal((count, DIM), dtype=np.float32)
    return np.divide(found, np.linalg.norm(found, axis=1, keepdims=True), out=found).astype(np.float16)


def _top_k(queries: object, segments: list[object], device: torch.device) -> tuple[np.ndarray, ...]:
    """What ``search_tokens`` computes."""
    from beirflow.late.search import exact_top_k

    order = np.arange(sum(len(segment.rows) for segment in segments))  # type: ignore[attr-defined]
    nothing = np.full(len(queries.counts), -1)  # type: ignore[attr-defined]
    return exact_top_k(queries, lambda: segments, order, K, excluded=nothing, device=device)  # type: ignore[arg-type, return-value]


def _check(queries: object, segments: list[object], device: torch.device) -> None:
    """Compare with the CPU: the same documents, in the same order, with the same scores."""
    on_device, on_cpu = (_top_k(queries, segments, place) for place in (device, torch.device("cpu")))
    for name, found, expected in zip(("queries", "documents", "scores"), on_device, on_cpu, strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=f"{name} differ from the CPU's")
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
