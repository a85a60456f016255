"""Latency and index size, section 5.1 of the BEIR paper: our systems on an available corpus, and quoted values.

``README.md`` describes ``efficiency.csv``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from beirflow.core.csv_files import write_csv
from beirflow.core.records import read_json
from beirflow.data.catalogue.choice import OF_THE_PAPER
from beirflow.evaluation.machine_load import is_busy, load_per_core
from beirflow.extensions.beir_paper.printed_values import Paper, load_paper

BUSY = "busy"  # a machine on which times are no measurement

QUOTED, HERE = "as quoted elsewhere", "here"  # sources

MILLION = f"{OF_THE_PAPER}.documents-1000000"  # as the paper measured
OF_PAPER = {"source": QUOTED, "dataset": OF_THE_PAPER, "documents": 1_000_000}

TIMES = ("gpu_ms", "gpu_p95_ms", "gpu_mean_ms", "cpu_ms", "cpu_p95_ms", "cpu_mean_ms", "cpu_1_thread_ms")
PRINTED = ("gpu_ms", "cpu_ms", "index_bytes")
RATE = "batch_queries_per_second"  # of each device
COLUMNS = (
    *("system", "source", "dataset", "documents", *TIMES, f"gpu_{RATE}", f"cpu_{RATE}", "queries"),
    *("load_per_core", "busy", "index_bytes"),
    *("top_k", "precision", "threads", "processor", "gpu", "note"),
)


def tabulate_efficiency(*, latency_paths: Sequence[str], table_path: str) -> None:
    """Write the table from the records of ``measure_latency``."""
    write_csv(efficiency([read_json(path) for path in latency_paths], load_paper()), table_path)


def efficiency(latencies: Sequence[Mapping[str, Any]], paper: Paper) -> pd.DataFrame:
    """Return the table of the quoted values and of the records of measured latency."""
    of_paper = [label for label, _ in paper.numbers["index_bytes"]]
    printed = {label: {key: paper.numbers[key].get((label, MILLION)) for key in PRINTED} for label in of_paper}
    quoted = [{"system": label, **OF_PAPER, **printed[label], "note": ""} for label in of_paper]
    return pd.DataFrame([*quoted, *map(_measured, latencies)], columns=list(COLUMNS))


def _measured(record: Mapping[str, Any]) -> dict[str, Any]:
    times = {"gpu": record["devices"].get("cuda"), "cpu": record["devices"].get("cpu")}
    measured = {device: summary for device, summary in times.items() if summary}
    reasons = {name: record["reasons"].get(key) for name, key in (("GPU", "cuda"), ("CPU", "cpu"))}
    return {
        **{key: record[key] for key in ("system", "dataset", "documents", "threads", "processor", "gpu")},
        **{f"{device}_ms": summary["p50_ms"] for device, summary in measured.items()},
        **{f"{device}_{name}_ms": summary[f"{name}_ms"] for device, summary in measured.items() for name in ("p95", "mean")},
        **{f"{device}_{RATE}": summary[RATE] for device, summary in measured.items()},
        "cpu_1_thread_ms": record["devices"].get("cpu_1_thread", {}).get("p50_ms"),
        "top_k": record["top_k"],
        "precision": ", ".join(
            sorted({str(each["made"]["precision"]) for each in measured.values() if "precision" in each["made"]})
        ),
        "source": HERE,
        "queries": min((summary["queries"] for summary in measured.values()), default=None),
        "load_per_core": load_per_core(record),
        "busy": BUSY if is_busy(record) else "",
        "index_bytes": record.get("bytes", {}).get("index"),
        "note": "; ".join(f"{name}: {reason}" for name, reason in reasons.items() if reason),
    }
