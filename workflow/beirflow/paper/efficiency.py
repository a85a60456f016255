"""Latency and index size, section 4.1 of the BEIR paper: our systems on an available corpus, beside quoted values.

``efficiency.csv`` has a row a system of the paper, ``as quoted elsewhere``, which no copy of the paper confirmed, over a million
documents of DBpedia; and then a row a system ``here``: ``system``, ``source``, ``dataset`` and its ``documents``; ``gpu_ms`` and
``cpu_ms``, the median milliseconds of a query (what is quoted does not say which average), and the 95th percentiles of ours;
``queries``, how many were measured; ``index_bytes``; ``threads``, ``processor`` and ``gpu``, where ours were measured; and
``note``, why a time is not there. Ours are times of exact search over all documents, with everything in memory.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from beirflow.files.csv_files import write_csv
from beirflow.files.records import read_json
from beirflow.paper.facts import PaperFacts, load_facts

QUOTED, HERE = "as quoted elsewhere", "here"
"""Sources."""

OF_PAPER = {"source": QUOTED, "dataset": "dbpedia-entity", "documents": 1_000_000}

GIGABYTE = 1e9

PERCENTILES = {"ms": "p50_ms", "p95_ms": "p95_ms"}

TIMES = tuple(f"{device}_{name}" for device in ("gpu", "cpu") for name in PERCENTILES)
COLUMNS = (
    *("system", "source", "dataset", "documents", *TIMES, "queries", "index_bytes"),
    *("threads", "processor", "gpu", "note"),
)


def tabulate_efficiency(*, latency_paths: Sequence[str], table_path: str) -> None:
    """Write the table.

    Args:
        latency_paths: What ``measure_latency`` wrote of every system.
        table_path: CSV to write, as this module says.

    Raises:
        DataError: A file was changed after it was written.
    """
    table = efficiency([read_json(path) for path in latency_paths], load_facts())
    write_csv(table, table_path)


def efficiency(latencies: Sequence[Mapping[str, Any]], facts: PaperFacts) -> pd.DataFrame:
    """The table.

    Args:
        latencies: Records of what was measured.
        facts: What is quoted of the paper.

    Returns:
        As this module says.
    """
    quoted = [_quoted(facts.label(name), entry) for name, entry in facts.efficiency.items()]
    return pd.DataFrame([*quoted, *map(_measured, latencies)], columns=list(COLUMNS))


def _quoted(label: str, entry: Mapping[str, float]) -> dict[str, Any]:
    times = {name: entry.get(name) for name in ("gpu_ms", "cpu_ms")}
    return {"system": label, **OF_PAPER, **times, "index_bytes": round(entry["index_gb"] * GIGABYTE), "note": ""}


def _measured(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a record says."""
    devices = {name: record["devices"].get(key) for name, key in (("gpu", "cuda"), ("cpu", "cpu"))}
    times = {f"{device}_{name}": found[key] for device, found in devices.items() if found for name, key in PERCENTILES.items()}
    reasons = {name: record["reasons"].get(key) for name, key in (("GPU", "cuda"), ("CPU", "cpu"))}
    return {
        **{key: record[key] for key in ("system", "dataset", "documents", "threads", "processor")},
        **times,
        "source": HERE,
        "queries": min((found["queries"] for found in devices.values() if found), default=None),
        "index_bytes": record.get("bytes", {}).get("index"),
        "gpu": record["gpu"],
        "note": "; ".join(f"{name}: {reason}" for name, reason in reasons.items() if reason),
    }
