"""What every system cost on every dataset.

``cost.csv`` has a row a system and dataset, of a dataset of forums the sums over its forums (of memory the most): ``documents``
and ``queries``, counts; ``load_seconds`` to ``evaluate_seconds`` by stage, their sum ``seconds``, and ``documents_per_second``,
documents over the seconds in which they were encoded, those that were taken over included; ``documents_taken_over`` from
another dataset; ``vector_bytes``, the size of all vectors, 4 bytes a number, whether or not they are still there;
``peak_memory_bytes``, the most that a job used according to Snakemake's benchmarks, where these are still there; ``precision``
and ``devices``. What is not known is empty.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from beirflow.files.records import read_json
from beirflow.files.writing import atomic_path

STAGES = ("load", "encode_queries", "encode_documents", "search", "merge", "evaluate")

MEBIBYTE = 1 << 20
"""Snakemake's ``max_rss`` is in these."""


def collect_costs(
    *,
    means_paths: Sequence[str],
    record_paths: Sequence[str],
    rows: Mapping[str, Sequence[str]],
    benchmarks_folder: str,
    costs_path: str,
) -> None:
    """Write what every system cost on every dataset.

    Args:
        means_paths: The ``metrics`` JSON of every system on every corpus.
        record_paths: The JSON beside every run, in the same order.
        rows: By dataset the names of its corpora.
        benchmarks_folder: Where Snakemake wrote its benchmarks; memory stays empty for those that are not there.
        costs_path: CSV to write, as this module says.
    """
    of_corpus: dict[str, dict[str, dict[str, Any]]] = {}
    for means_path, record_path in zip(means_paths, record_paths, strict=True):
        means = read_json(means_path)
        corpora = of_corpus.setdefault(means["system"], {})
        corpora[means["dataset"]] = _of_corpus(means, read_json(record_path), Path(benchmarks_folder))
    table = pd.DataFrame(
        [
            {"system": system, "dataset": dataset, **_together([found[corpus] for corpus in corpora])}
            for system, found in of_corpus.items()
            for dataset, corpora in rows.items()
        ]
    )
    with atomic_path(costs_path) as partial:
        table.to_csv(partial, index=False)


def _of_corpus(means: Mapping[str, Any], record: Mapping[str, Any], benchmarks: Path) -> dict[str, Any]:
    """What one system cost on one corpus."""
    counts = {key: means["counts"][key] for key in ("documents", "queries")}
    chunks = len(record["from_sha256"].get("chunks", ()))
    return {
        **counts,
        **{f"{stage}_seconds": means["seconds"].get(stage, np.nan) for stage in STAGES},
        "seconds": sum(means["seconds"].values()),
        "documents_taken_over": record.get("documents_taken_over", 0),
        "vector_bytes": sum(counts.values()) * record.get("dim", np.nan) * np.dtype(np.float32).itemsize,
        "peak_memory_bytes": _peak_memory(_benchmarks(benchmarks, means["system"], means["dataset"], chunks)),
        "precision": {record.get("precision")},
        "devices": set(record.get("devices", ())),
    }


def _benchmarks(folder: Path, system: str, dataset: str, chunks: int) -> list[Path]:
    """The benchmarks of all jobs of a system on a corpus; of chunks, only those that there are now."""
    place = Path(system, dataset)
    names = [folder / rule / place.with_suffix(".tsv") for rule in ("encode_queries", "merge_chunks", "evaluate_run")]
    names += [folder / rule / place / f"chunk-{i}.tsv" for rule in ("encode_chunk", "search_chunk") for i in range(chunks)]
    return names


def _peak_memory(paths: Iterable[Path]) -> float:
    """The largest ``max_rss`` of some benchmarks in bytes; not-a-number if one is missing, since it could be the largest."""
    found = []
    for path in paths:
        if not path.is_file():
            return np.nan
        found.append(float(pd.read_csv(path, sep="\t")["max_rss"].max()))
    return float(np.nanmax(found)) * MEBIBYTE if found and not np.all(np.isnan(found)) else np.nan


def _together(corpora: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all corpora of a dataset cost."""
    row: dict[str, Any] = {}
    for key, first in corpora[0].items():
        values = [corpus[key] for corpus in corpora]
        if isinstance(first, set):
            row[key] = ", ".join(sorted(str(name) for name in set().union(*values) if name))
        else:
            row[key] = np.max(values) if key == "peak_memory_bytes" else sum(values)
        if key == "seconds":
            row["documents_per_second"] = row["documents"] / row["encode_documents_seconds"]
    return row
