"""Write results as the rules leave them: the values of every query, their means, runs, judgements."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.core.digests import file_digest
from beirflow.core.records import Job, write_record
from beirflow.evaluation.significance import compare_systems
from beirflow.ranking.run_file import RUN

COUNTS = {"documents": 100, "queries": 4}
SECONDS = {"load": 1.0, "queries": 2.0, "index": 4.0, "search": 8.0, "merge": 16.0, "evaluate": 32.0}


def write_metrics(
    folder: Path, system: str, dataset: str, values: Mapping[str, Sequence[float]], ids: Sequence[str] = (), **means: Any
) -> tuple[str, str]:
    """Values by measure, of queries q0, q1, … unless other ids are given; the paths of JSON and Parquet."""
    path = folder / f"metrics/{system}/{dataset}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    query_ids = list(ids) or [f"q{number}" for number in range(len(next(iter(values.values()))))]
    pq.write_table(
        pa.table({"query_id": query_ids, **{name: np.asarray(each, np.float64) for name, each in values.items()}}), path
    )
    corpus = folder / f"corpora/{dataset}/corpus.json"
    record = {
        "inputs": {corpus: file_digest(corpus)} if corpus.exists() else {},
        "system": system,
        "dataset": dataset,
        "split": "test",
        "measures": {name: float(np.mean(each)) for name, each in values.items()},
        "counts": {**COUNTS, "queries": len(query_ids)},
        "seconds": SECONDS,
        "precisions": [],
        "assumed": [],
    }
    job = Job(folder, f"evaluate_run/{system}/{dataset}")
    write_record(path.with_suffix(".json"), job, outputs={path: file_digest(path)}, **(record | means))
    return str(path.with_suffix(".json")), str(path)


def write_comparison(folder: Path, metrics: Sequence[tuple[str, str]], rows: Mapping[str, Sequence[str]], **more: Any) -> str:
    """The tests of every two systems, from the paths of JSON and Parquet of each system and corpus; the path of the table."""
    means_paths, per_query_paths = zip(*metrics, strict=True)
    names = {"comparison": "significance", "uncertainty": "uncertainty"}
    paths = {f"{name}_path": str(folder / f"{file}.csv") for name, file in names.items()}
    of_systems = {"means_paths": means_paths, "per_query_paths": per_query_paths, "rows": rows, "averages": {}}
    compare_systems(**{**of_systems, **paths, **more})
    return paths["comparison_path"]


def write_run(path: Path, ranked: Mapping[str, Sequence[str]]) -> str:
    """Documents by query in the order of their ranks, with the scores 1, 1/2, 1/3, …; the digest."""
    rows = [
        {"query_id": query_id, "doc_id": doc_id, "score": 1 / rank, "rank": rank}
        for query_id, doc_ids in sorted(ranked.items())
        for rank, doc_id in enumerate(doc_ids, 1)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=RUN), path)
    return file_digest(path)
