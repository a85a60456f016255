"""Exact search on the device: of one chunk of vectors, and of one chunk of token vectors by late interaction."""

from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from bench.gpu.rates import peak_bytes, seconds_of
from bench.gpu.workload import Figures, Setting, need, token_counts
from bench.stages.search import unit_vectors

K = 1000
CHECKED_QUERIES, CHECKED_DOCUMENTS = 100, 50_000

LATE_DIM, LATE_OF_A_QUERY = 128, 32
LATE_CHUNK = 50_000
"""Documents of a chunk: 1.2 GB of vectors."""

LATE_LONGEST = 180
"""Tokens of a document, as in ColBERT's runs on MS MARCO."""

LATE_CHECKED_QUERIES, LATE_CHECKED_DOCUMENTS = 8, 500
MSMARCO_QUERIES, MSMARCO_DOCUMENTS, CHUNK_DOCUMENTS = 6980, 8_841_823, 500_000


def timed_searches(setting: Setting, search: Callable[[torch.device], Any], part: Callable[[torch.device], Any]) -> list[float]:
    """Seconds of a search; a search of a part must give the same documents, order and scores as on the CPU."""
    on_device, on_cpu = (part(device) for device in (setting.device, torch.device("cpu")))
    for name, found, expected in zip(("queries", "documents", "scores"), on_device, on_cpu, strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=f"{name} differ from the CPU's")
    if setting.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    search(setting.device)
    return [seconds_of(lambda: search(setting.device), setting.device) for _ in range(setting.passes)]


PARTS = {
    "copies": "families.dense.top_k.prepare",
    "first pass": "families.dense.top_k._search",
    "exact scores": "families.dense.top_k.exact_scores",
    "merge": "ranking.shortlist.merge_sorted",
}
LATE_PARTS = {
    "copies": "families.late_interaction.search.arranged",
    "first pass": "families.late_interaction.search._fast_pass",
    "exact scores": "families.late_interaction.search._score_pairs",
    "merge": "ranking.shortlist.merge_sorted",
}
"""Functions of a search by the names of its parts. A thread copies beside the first pass, and does not wait for the device.

That of dense vectors scores exactly what it finds, so that its time includes the exact scores.
"""


def seconds_of_parts(parts: dict[str, str], search: Callable[[], Any], device: torch.device) -> dict[str, float]:
    """Seconds of each part of a search, at whose end the device has nothing left to do."""
    seconds = dict.fromkeys(parts, 0.0)

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            found: list[Any] = []
            waits_for = torch.device("cpu") if name == "copies" else device
            seconds[name] += seconds_of(lambda: found.append(function(*args, **named)), waits_for)
            return found[0]

        return call

    with ExitStack() as stack:
        for name, place in parts.items():
            module, _, function = place.rpartition(".")
            owner = import_module(f"beirflow.{module}")
            stack.enter_context(patch.object(owner, function, timed(name, getattr(owner, function))))
        search()
    return seconds


def searching(setting: Setting) -> Figures:
    """Times to search as many documents as there are texts, as ``search_chunk`` does."""
    need("pyarrow")
    from beirflow.families.dense.top_k import exact_top_k
    from beirflow.ranking.ranking import Cut

    rng = np.random.default_rng(2)
    documents, queries = (unit_vectors(rng, count, setting.shape.dim) for count in (len(setting.texts), setting.queries))
    copies = len(documents[-len(documents) // 100 :])
    documents[len(documents) - copies :] = documents[:copies]
    order = rng.permutation(len(documents))

    def search(device: torch.device, asked: int | None = None, searched: int = 0) -> Any:
        some, nothing = queries[:asked], np.full(len(queries[:asked]), -1)  # -0 takes all documents
        return exact_top_k(some, documents[-searched:], Cut(K, order[-searched:], nothing), similarity="dot", device=device)

    seconds = timed_searches(setting, search, lambda device: search(device, CHECKED_QUERIES, CHECKED_DOCUMENTS))
    return {
        "documents": len(documents),
        "queries": len(queries),
        "k": K,
        "seconds": seconds,
        "median_seconds": median(seconds),
        "parts": seconds_of_parts(PARTS, lambda: search(setting.device), setting.device),
        "peak_device_bytes": peak_bytes(setting.device),
        "checked": f"{min(len(queries), CHECKED_QUERIES)} queries and {min(len(documents), CHECKED_DOCUMENTS)} documents",
    }


def late(setting: Setting) -> Figures:
    """Times to search a chunk with as many queries as MS MARCO has.

    The first pass compares every token with every token: MS MARCO's takes as many times longer as it has documents. What follows
    takes the same time for each of its chunks, which are larger, since as many documents are kept of each.
    """
    need("pyarrow")
    from beirflow.families.late_interaction.search import exact_top_k
    from beirflow.families.late_interaction.vectors import Segment, TokenVectors
    from beirflow.ranking.ranking import Cut

    counts = token_counts(min(LATE_CHUNK, len(setting.texts)), LATE_LONGEST, seed=3)
    number = MSMARCO_QUERIES if setting.device.type == "cuda" else setting.queries

    def drawn(of: np.ndarray) -> TokenVectors:
        torch.manual_seed(int(of.sum()))
        drawn = torch.randn((int(of.sum()), LATE_DIM), device=setting.device)  # by the host it takes a quarter of a minute
        return TokenVectors(of, (drawn / drawn.norm(dim=1, keepdim=True)).half().cpu().numpy())

    documents, queries = drawn(counts), drawn(np.full(number, LATE_OF_A_QUERY))

    def segments(of: TokenVectors) -> list[Segment]:
        rows = np.arange(len(of.counts), dtype=np.int32)
        parts = np.array_split(rows, max(1, len(of.vectors) >> 17))  # as many as a file would have
        return [Segment(of.take(part), part, np.arange(len(part), dtype=np.int32)) for part in parts]

    def search(device: torch.device, asked: TokenVectors, searched: list[Segment]) -> Any:
        order = np.arange(sum(len(segment.rows) for segment in searched))
        return exact_top_k(asked, lambda: searched, Cut(K, order, np.full(len(asked.counts), -1)), device=device)

    some, last = np.arange(min(LATE_CHECKED_QUERIES, number)), np.arange(len(counts))[-LATE_CHECKED_DOCUMENTS:]
    part, whole = (queries.take(some), segments(documents.take(last))), (queries, segments(documents))
    seconds = timed_searches(setting, lambda device: search(device, *whole), lambda device: search(device, *part))
    middle, pairs = median(seconds), number * len(counts)
    parts = seconds_of_parts(LATE_PARTS, lambda: search(setting.device, *whole), setting.device)
    of_chunks = (parts["exact scores"] + parts["merge"]) / number * MSMARCO_DOCUMENTS / CHUNK_DOCUMENTS
    of_pairs = parts["first pass"] / pairs * MSMARCO_DOCUMENTS
    return {
        "documents": len(counts),
        "queries": number,
        "mean_tokens": float(counts.mean()),
        "seconds": seconds,
        "median_seconds": middle,
        "flops_per_second": 2 * LATE_DIM * LATE_OF_A_QUERY * number * float(counts.sum()) / middle,
        "minutes_for_msmarco": (of_pairs + of_chunks) * MSMARCO_QUERIES / 60,
        "parts": parts,
        "peak_device_bytes": peak_bytes(setting.device),
        "checked": f"{len(some)} queries and {len(last)} documents",
    }
