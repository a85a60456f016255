"""The cost of every system on every dataset: ``cost.csv`` of ``docs/files.md``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.constants import hour, kilo

from beirflow.core.csv_files import write_csv
from beirflow.core.layout import BENCHMARK, ENERGY
from beirflow.core.records import Job, read_json
from beirflow.data.catalogue.catalogue import load_catalogue

STAGES = ("load", "queries", "expand", "train", "index", "build", "search", "merge", "fuse", "rerank", "evaluate")

MEBIBYTE = 1 << 20  # the unit of Snakemake's ``max_rss``
LOAD = "load_per_core"  # column of the files of counters, the load average of the machine
COUNTED = ("processor_joules", "gpu_joules", "own_seconds", "busy_seconds")  # columns of counters, read while a job runs
SUMMED = ("machine_joules", *COUNTED)  # the same with the attributed part of the first

HIGHEST: Mapping[str, Callable[[Any], Any]] = {"peak_memory_bytes": np.max, LOAD: np.fmax.reduce}
"""Columns of which several corpora have the highest value; a load that is not known of all is that of the others."""


def collect_costs(
    *,
    means_paths: Sequence[str],
    record_paths: Sequence[str],
    rows: Mapping[str, Sequence[str]],
    costs_path: str,
    job: Job,
    carbon_intensity: float | None = None,
) -> None:
    """Write ``cost.csv`` from the means and the run records of every system on every corpus, both in the same order.

    ``rows`` has the corpora of every dataset; ``carbon_intensity`` is in grams of CO2 per kilowatt-hour, None if unknown.
    """
    of_corpus: dict[str, dict[str, dict[str, Any]]] = {}
    for means_path, record_path in zip(means_paths, record_paths, strict=True):
        means = read_json(means_path)
        corpora = of_corpus.setdefault(means["system"], {})
        corpora[means["dataset"]] = _of_corpus(means, read_json(record_path), job.results)
    table = pd.DataFrame(
        [
            {"system": system, "dataset": dataset, **_together([costs_of[corpus] for corpus in corpora], carbon_intensity)}
            | _published(system, dataset)
            for system, costs_of in of_corpus.items()
            for dataset, corpora in rows.items()
        ]
    )
    write_csv(table, costs_path)


def _published(system: str, dataset: str) -> dict[str, Any]:
    """Return the seconds that a source of published scores prints, with its name; both empty if none does."""
    sources = load_catalogue().published.get(system, ())
    printed = [(source["seconds"][dataset], source["source"]) for source in sources if dataset in source.get("seconds", {})]
    return dict(zip(("published_seconds", "published_source"), (printed or [(np.nan, "")])[0], strict=True))


def _of_corpus(means: Mapping[str, Any], run: Mapping[str, Any], results: Path) -> dict[str, Any]:
    """Return the cost of one system on one corpus, from the records of its means and of its run."""
    made = run.get("made", {})
    jobs = [*run.get("jobs", ()), run["job"], means["job"]]
    return {
        **{key: means["counts"][key] for key in ("documents", "queries")},
        **{f"{stage}_seconds": means["seconds"].get(stage, np.nan) for stage in STAGES},
        "seconds": sum(means["seconds"].values()),
        "documents_reused": run.get("counts", {}).get("documents_reused", 0),
        "index_bytes": run.get("bytes", {}).get("index", np.nan),
        "peak_memory_bytes": _peak_memory(results / BENCHMARK(job=job) for job in jobs),
        **_counted([results / ENERGY(job=job) for job in jobs]),
        "precision": _values(made.get("precision")),
        "devices": _values(made.get("device")),
    }


def _values(made: str | list[str] | None) -> set[str]:
    """Return the devices or versions that computed something, as a set."""
    return set(made) if isinstance(made, list) else {made} - {None}  # type: ignore[return-value]


def _peak_memory(paths: Iterable[Path]) -> float:
    """Return the largest ``max_rss`` of some benchmarks in bytes; not-a-number if one is missing: it could be the largest."""
    peaks = []
    for path in paths:
        if not path.is_file():
            return np.nan
        peaks.append(float(pd.read_csv(path, sep="\t")["max_rss"].max()))
    return float(np.nanmax(peaks)) * MEBIBYTE if peaks and not np.all(np.isnan(peaks)) else np.nan


def _counted(paths: Iterable[Path]) -> dict[str, float]:
    """Sum up the counts of some jobs, with the highest load; not-a-number for a count that a job lacks, or without any load."""
    total, highest = dict.fromkeys(SUMMED, 0.0), np.nan
    for path in paths:
        counts = dict[Any, float]()
        with suppress(OSError, ValueError, IndexError):  # no digest names it, so what it cannot say is not known
            counts = pd.read_csv(path, sep="\t", dtype=float).iloc[0].to_dict()
        counts["machine_joules"] = counts.get("processor_joules", np.nan)
        counts["processor_joules"] = counts["machine_joules"] * _share(
            counts.get("own_seconds", np.nan), counts.get("busy_seconds")
        )
        total = {name: value + counts.get(name, np.nan) for name, value in total.items()}
        highest = np.fmax(highest, counts.get(LOAD, np.nan))
    return {LOAD: highest, **total}


def _share(own: float, busy: float | None) -> float:
    """Return the share of processor time; not-a-number if it is not known."""
    return float(np.minimum(1.0, own / (busy or np.nan)))  # the kernel counts in hundredths of a second


def _together(corpora: Sequence[Mapping[str, Any]], carbon_intensity: float | None) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for key, first in corpora[0].items():
        values = [corpus[key] for corpus in corpora]
        if isinstance(first, set):
            row[key] = ", ".join(sorted(str(name) for name in set().union(*values) if name))
        else:
            row[key] = HIGHEST[key](values) if key in HIGHEST else sum(values)
        # Ratios of sums, and not sums of ratios.
        if key == "seconds":
            row["documents_per_second"] = row["documents"] / (row["index_seconds"] or np.nan)
        if key == "documents_reused":
            row["new_documents_per_second"] = (row["documents"] - row[key]) / (row["index_seconds"] or np.nan)
        if key == COUNTED[-1]:
            row["processor_share"] = _share(row.pop("own_seconds"), row.pop("busy_seconds"))
            row["carbon_intensity"] = np.nan if carbon_intensity is None else carbon_intensity
            row["co2_grams"] = (row["processor_joules"] + row["gpu_joules"]) / (kilo * hour) * row["carbon_intensity"]
    return row
