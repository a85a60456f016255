"""Evaluate a run: every measure of every query, and their means; and average forums to a dataset."""

import time
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.datasets.corpus_files import read_table
from beirflow.evaluation.means import read_means
from beirflow.evaluation.measures import measure
from beirflow.files.digests import file_digest
from beirflow.files.records import read_json, write_json
from beirflow.files.verified import check_origin
from beirflow.files.writing import atomic_path
from beirflow.runs.run_file import read_run

SOURCES = ("queries.parquet", "documents.parquet")
"""What a run is made from, beside a system."""


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
    code: str = "",
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
        code: Digest of the code that runs, for the record.

    Raises:
        DataError: The run or the judgements are not those that were recorded, or the run is of another system or corpus.
    """
    start = time.perf_counter()
    run_record, corpus = read_json(run_record_path), read_json(corpus_path)
    check_origin(run_record_path, run_record, {"system": system} | {name: corpus["sha256"][name] for name in SOURCES})
    run, qrels = read_run(run_path, run_record["sha256"], run_record_path), read_table(qrels_path)
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
            "code": code,
            "sha256": file_digest(per_query_path),
            "from_sha256": {
                "run": run_record["sha256"],
                "run record": file_digest(run_record_path),
                "qrels.parquet": corpus["sha256"]["qrels.parquet"],
                "corpus.json": file_digest(corpus_path),
            },
        },
    )


def average_forums(*, dataset: str, forum_paths: Sequence[str], means_path: str, code: str = "") -> None:
    """Average the forums of a dataset: the plain mean of their means, as the BEIR paper does for CQADupStack.

    Args:
        dataset: Name of the dataset.
        forum_paths: The means of its forums, as ``evaluate_run`` wrote them.
        means_path: JSON to write, in the same form; counts and times are sums.
        code: Digest of the code that runs, for the record.

    Raises:
        DataError: A file was changed after it was written, or belongs elsewhere.
    """
    forums = [read_means(path) for path in forum_paths]
    official = [forum["official_data"] for forum in forums]
    write_json(
        means_path,
        {
            "system": forums[0]["system"],
            "dataset": dataset,
            "split": forums[0]["split"],
            "official_data": False if False in official else True if all(official) else None,
            "measures": {name: total / len(forums) for name, total in _sums(forums, "measures").items()},
            "counts": _sums(forums, "counts"),
            "seconds": _sums(forums, "seconds"),
            "code": code,
            "from_sha256": {forum["dataset"]: file_digest(path) for forum, path in zip(forums, forum_paths, strict=True)},
        },
    )


def _sums(forums: Sequence[Mapping[str, Mapping[str, float]]], field: str) -> dict[str, float]:
    """The sum over forums of each number in a field."""
    return {name: sum(forum[field][name] for forum in forums) for name in forums[0][field]}
