"""Jobs of a system on a plain dataset and on one of two forums, and the costs that are collected of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from beirflow.core.records import Job, write_record
from beirflow.evaluation.cost import collect_costs
from results_writer import write_metrics

INDEX_BYTES = 12_345
MADE: dict[str, Any] = {"made": {"precision": "float32", "device": "a cpu"}, "counts": {"documents_reused": 5}}
MADE |= {"sizes": {"queries": 1, "index": INDEX_BYTES}}
"""The record of a run."""


def jobs_of(corpus: str) -> list[str]:
    """The jobs before the merge, of a corpus in two chunks."""
    chunks = [f"{rule}/x/{corpus}/chunk-{chunk}" for rule in ("encode_chunk", "search_chunk") for chunk in (0, 1)]
    return [f"encode_queries/x/{corpus}", *chunks]


def benchmark(folder: Path, job: str, rss: float | str = 1.0, **more: float | str) -> None:
    path = folder / f"benchmarks/{job}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    row = {"s": 1.5, "h:m:s": "0:00:01", "max_rss": rss, **more}
    path.write_text("\t".join(row) + "\n" + "\t".join(map(str, row.values())) + "\n")


def counted_jobs(results: Path, jobs: list[list[str]], *, factor: int) -> dict[str, float]:
    """Return columns as an extension adds them."""
    return {"jobs": factor * sum(map(len, jobs)), "files": sum((results / f"benchmarks/{job}.tsv").is_file() for job in jobs[0])}


def costs(
    folder: Path,
    *,
    benchmarks: bool = True,
    record: dict[str, Any] | None = None,
    additions: Mapping[str, Mapping[str, Any]] | None = None,
) -> pd.DataFrame:
    """A plain dataset and one of two forums, each in two chunks."""
    means_paths, record_paths = [], []
    for corpus in ("plain", "stack-a", "stack-b"):
        means_paths.append(write_metrics(folder, "x", corpus, {"NDCG@10": [0.1] * 4})[0])
        record_paths.append(str(folder / f"runs/x/{corpus}.json"))
        job, said = Job(folder, f"merge_chunks/x/{corpus}"), MADE if record is None else record
        write_record(record_paths[-1], job, inputs={}, outputs={}, jobs=jobs_of(corpus), **said)
        for name in [*jobs_of(corpus), job.name, f"evaluate_run/x/{corpus}"] if benchmarks else ():
            if not (folder / f"benchmarks/{name}.tsv").exists():
                benchmark(folder, name)
    rows = {"plain": ["plain"], "stack": ["stack-a", "stack-b"]}
    paths = {"means_paths": means_paths, "record_paths": record_paths, "costs_path": str(folder / "cost.csv")}
    collect_costs(**paths, rows=rows, job=Job(folder), additions=additions or {})
    return pd.read_csv(folder / "cost.csv").set_index("dataset")


ALL_JOBS = [
    job
    for corpus in ("plain", "stack-a", "stack-b")
    for job in (*jobs_of(corpus), f"merge_chunks/x/{corpus}", f"evaluate_run/x/{corpus}")
]
