"""Records of latencies that nobody measured."""

from pathlib import Path
from typing import Any

from beirflow.core.layout import LATENCY
from beirflow.core.records import Job, write_record


def latency(ms: float, queries: int = 5) -> dict[str, Any]:
    """Make the record of one device."""
    return {
        "p50_ms": ms,
        "p95_ms": 2 * ms,
        "mean_ms": 1.5 * ms,
        "p50_low_ms": 0.9 * ms,
        "p50_high_ms": 1.1 * ms,
        "encode_p50_ms": None,
        "search_p50_ms": None,
        **dict.fromkeys(("batch_queries_per_second", "batch_low_queries_per_second", "batch_high_queries_per_second"), 10.0),
        **dict.fromkeys(("batch_encode_queries_per_second", "batch_search_queries_per_second")),
        "repetitions": 3,
        "threads": 2,
        "queries": queries,
        "where": {"postings": "cpu"},
        "made": {},
    }


def write_latency(results: Path, system: str, dataset: str, documents: int = 30, **fields: Any) -> Path:
    """The record of a system on a corpus; gives its path."""
    path = results / LATENCY(system=system, dataset=dataset)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_record(
        path,
        Job(results, f"measure_latency/{system}/{dataset}", "c0de"),
        inputs={},
        outputs={},
        sizes={"index": 1_500_000},
        **{
            "system": system,
            "dataset": dataset,
            "documents": documents,
            "queries": ["q1"],
            "of_queries": 1,
            "seed": 0,
            "warm_up": 1,
            "top_k": 20,
            "threads": 2,
            "load": {"before": 0.1, "after": 1.1, "cores": 2, "others": 0.1},
            "processor": "a processor",
            "gpu": None,
            "devices": {"cpu": latency(3.0)},
            "reasons": {"cuda": "there is none here"},
            **fields,
        },
    )
    return path
