"""Fuse the runs of several systems to one."""

import platform
import time
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.files.records import Job
from beirflow.fusion.contributions import contributions
from beirflow.fusion.settings import FusionSettings
from beirflow.runs.first_stages import FirstStages
from beirflow.runs.ranking import byte_order, merge_hits
from beirflow.runs.run_file import run_writer

QUERIES = 512
"""Fused at once; a thousand documents of each in three runs are some 100 MB."""


def fuse_runs(
    *,
    settings: FusionSettings,
    dataset: str,
    run_paths: Sequence[str],
    corpus_path: str,
    top_k: int,
    run_path: str,
    record_path: str,
    job: Job,
) -> None:
    """Fuse the runs of several systems on one corpus.

    Args:
        settings: The system.
        dataset: Name of the corpus.
        run_paths: The runs of ``settings.of``, each next to its record.
        corpus_path: ``corpus.json`` of the corpus.
        top_k: Documents to keep for each query.
        run_path: Parquet to write.
        record_path: The record to write.
        job: The job, for the record.

    Raises:
        DataError: A run is not the one that was recorded, or was made for another corpus.
    """
    start = time.perf_counter()
    first_stages = FirstStages(settings.of, run_paths, corpus_path, job)
    with run_writer(run_path) as write:
        for part in fused(settings, first_stages.runs, top_k):
            write(*part)
    first_stages.write_record(
        record_path,
        run_path,
        system=settings.name,
        made={"python": platform.python_version(), "numpy": np.__version__},
        seconds={"fuse": time.perf_counter() - start},
        counts={},
        dataset=dataset,
        top_k=top_k,
        ties="descending",
    )


def fused(
    settings: FusionSettings, runs: Sequence[pa.Table], top_k: int
) -> Iterator[tuple[pa.Array, pa.Array, np.ndarray, np.ndarray]]:
    """Fuse runs, some queries at a time.

    Args:
        settings: How.
        runs: The runs, sorted by query and rank.
        top_k: Documents to keep for each query.

    Yields:
        Ids of queries and documents, scores and ranks of the next rows.
    """
    if settings.depth is not None:
        runs = [run.filter(pc.less_equal(run["rank"], settings.depth)) for run in runs]
    query_ids = pc.unique(pa.chunked_array([chunk for run in runs for chunk in run["query_id"].chunks], pa.string()))
    query_ids = query_ids.take(pc.sort_indices(query_ids))
    queries = [pc.index_in(run["query_id"].combine_chunks(), value_set=query_ids).to_numpy() for run in runs]
    for first in range(0, len(query_ids), QUERIES):
        bounds = [np.searchsorted(query, (first, first + QUERIES)) for query in queries]
        parts = [run.slice(begin, end - begin) for run, (begin, end) in zip(runs, bounds, strict=True)]
        numbers = [query[begin:end] for query, (begin, end) in zip(queries, bounds, strict=True)]
        yield _fused_block(settings, parts, numbers, query_ids, top_k)


def _fused_block(
    settings: FusionSettings, parts: Sequence[pa.Table], queries: Sequence[np.ndarray], query_ids: pa.Array, top_k: int
) -> tuple[pa.Array, pa.Array, np.ndarray, np.ndarray]:
    """Some queries: ids of queries and documents, scores and ranks."""
    ids = pa.chunked_array([chunk for part in parts for chunk in part["doc_id"].chunks], pa.string())
    encoded = ids.combine_chunks().dictionary_encode()
    pairs, place = np.unique(np.concatenate(queries).astype(np.int64) << 32 | encoded.indices.to_numpy(), return_inverse=True)
    table, first = np.zeros((len(pairs), len(parts))), 0
    for number, (part, query) in enumerate(zip(parts, queries, strict=True)):
        rows = place[first : first + len(query)]
        table[rows, number] = contributions(settings, number, query, part["score"].to_numpy(), part["rank"].to_numpy())
        first += len(query)
    # Added from the smallest on, so that documents with the same contributions tie whichever run each comes from.
    table.sort(axis=1)
    scores = np.zeros(len(pairs))
    for column in table.T:
        scores += column
    query, row = (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32)
    hits = merge_hits(
        [(query, row, scores.astype(np.float32))], lambda tied: byte_order(encoded.dictionary.take(pa.array(tied))), top_k
    )
    return query_ids.take(pa.array(hits[0])), encoded.dictionary.take(pa.array(hits[1])), hits[2], hits[3]
