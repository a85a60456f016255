"""Evaluate a run: every measure of every query, and their means."""

import time
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.errors import DataError
from beirflow.files import atomic_path, file_digest, read_json, write_json
from beirflow.measures import measure


def evaluate_run(
    *,
    system: str,
    dataset: str,
    run_path: str,
    run_record_path: str,
    qrels_path: str,
    corpus_path: str,
    cutoffs: Sequence[int],
    per_query_path: str,
    means_path: str,
) -> None:
    """Evaluate one run.

    Args:
        system: Name of the system.
        dataset: Name of the dataset or forum.
        run_path: Parquet of the run.
        run_record_path: JSON that was written with the run.
        qrels_path: Parquet of the judgements.
        corpus_path: ``corpus.json`` of the dataset.
        cutoffs: The k of the measures.
        per_query_path: Parquet to write: ``query_id`` and a column a measure.
        means_path: JSON to write: the means over all judged queries, with counts, times and digests.

    Raises:
        DataError: The run or the judgements are not those that were recorded.
    """
    start = time.perf_counter()
    run_record, corpus = read_json(run_record_path), read_json(corpus_path)
    run_digest = file_digest(run_path)
    if run_digest != run_record["sha256"]:
        found = f"sha256 {run_digest}, but {run_record_path} says {run_record['sha256']}"
        raise DataError(f"{run_path}: {found}; the run was changed after it was written; delete it and run again: rm {run_path}")
    qrels_digest = file_digest(qrels_path)
    if qrels_digest != corpus["sha256"]["qrels.parquet"]:
        found = f"sha256 {qrels_digest}, but {corpus_path} says {corpus['sha256']['qrels.parquet']}"
        raise DataError(
            f"{qrels_path}: {found}; the judgements were changed after they were written; run again after: rm {qrels_path}"
        )
    run, qrels = pq.read_table(run_path), pq.read_table(qrels_path)
    table = measure(run, qrels, cutoffs)
    with atomic_path(per_query_path) as partial:
        pq.write_table(pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(), partial, compression="zstd")
    names = [name for name in table.columns if name != "query_id"]
    write_json(
        means_path,
        {
            "system": system,
            "dataset": dataset,
            "split": corpus["split"],
            "official_data": corpus["official"],
            "measures": {name: float(table[name].mean()) for name in names},
            "counts": {
                **{key: corpus[key] for key in ("documents", "queries", "judgements", "judgements_without_document")},
                "retrieved": run.num_rows,
                "queries_without_results": len(set(table["query_id"]) - set(pc.unique(run["query_id"]).to_pylist())),
                "self_matches_dropped": run_record["self_matches_dropped"],
            },
            "seconds": {**run_record["seconds"], "evaluate": time.perf_counter() - start},
            "sha256": file_digest(per_query_path),
            "from_sha256": {
                "run": run_digest,
                "run record": file_digest(run_record_path),
                "qrels.parquet": qrels_digest,
            },
        },
    )
