"""Search an approximate index: a run with exact scores, compared with the exact run of the dense system."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch

from beirflow.approximate.exact_share import count_exact
from beirflow.approximate.neighbours import chunks_of, find_neighbours, pairs_of, read_index
from beirflow.approximate.settings import ApproximateSettings
from beirflow.datasets.corpus_files import Documents, read_table
from beirflow.dense.top_k import exact_of_pairs
from beirflow.dense.vectors import VectorFile, read_vectors, similarity_of
from beirflow.files.digests import file_digest
from beirflow.files.layout import record_of
from beirflow.files.records import Job, check_inputs, output_digest, read_json, together, write_record
from beirflow.files.verified import check_digest, checked_while_read, damaged
from beirflow.runs.candidates import origin_of
from beirflow.runs.ranking import Hits, byte_order, rank_hits
from beirflow.runs.run_file import RUN, read_run, run_writer
from beirflow.runs.searched import check_precision, places_of, read_searched

RUN_ROWS = 1 << 20
"""Rows of a run that are written at once."""


@dataclass(frozen=True)
class Searched:
    """Paths of the files that a search reads.

    Attributes:
        queries_path: ``queries.parquet``, next to its ``corpus.json``.
        documents_path: ``documents.parquet``, likewise.
        model_path: The record of the model.
        query_vectors_path: ``.npy`` of the queries' vectors, with its record.
        chunk_vectors_paths: The vectors of chunk 0, 1, …, each with its record.
        index_path: The index, with its record.
        exact_run_path: The run of the dense system, with its record.
    """

    queries_path: str
    documents_path: str
    model_path: str
    query_vectors_path: str
    chunk_vectors_paths: Sequence[str]
    index_path: str
    exact_run_path: str


class Retrieval(NamedTuple):
    """The documents that a run keeps.

    Attributes:
        top_k: Documents of each query.
        drop_self_matches: Whether a document whose id is the query's id is dropped before the cut.
    """

    top_k: int
    drop_self_matches: bool


def search_approximate(
    *,
    settings: ApproximateSettings,
    dataset: str,
    similarity: str | None,
    retrieval: Retrieval,
    paths: Searched,
    run_path: str,
    job: Job,
    threads: int = 1,
) -> None:
    """Search all queries, score the documents that are found exactly, and write the run and its record.

    Args:
        settings: The system.
        dataset: Name of the corpus.
        similarity: ``dot`` or ``cosine``; None for what the record of the model says.
        retrieval: The documents to keep.
        paths: The files to read.
        run_path: Parquet to write, and its record.
        job: The job, for the record.
        threads: Threads to compute with.

    Raises:
        ConfigError: faiss is not installed.
        DataError: A file is not the one that was recorded, or was made from something else.
    """
    torch.set_num_threads(threads)
    vectors_of = {paths.query_vectors_path: paths.queries_path, **dict.fromkeys(paths.chunk_vectors_paths, paths.documents_path)}
    sources = read_searched(vectors_of, paths.model_path, job, system=settings.approximate)
    check_precision(sources, "encode")
    digests = {path: output_digest(sources[path], path) for path in paths.chunk_vectors_paths}
    similarity = similarity_of(similarity, paths.model_path)
    sources[paths.index_path] = _check_index(paths.index_path, job.digests(digests), settings, similarity)
    exact_record, exact = _read_exact(paths, settings, retrieval.top_k, job)
    query_ids = read_table(paths.queries_path)["query_id"].combine_chunks()
    with Documents(paths.documents_path) as file:
        sizes = file.sizes
        doc_ids = file.read(range(len(sizes)), ["doc_id"])["doc_id"].combine_chunks()
    own = places_of(query_ids, doc_ids) if retrieval.drop_self_matches else np.full(len(query_ids), -1)
    queries = np.array(read_vectors(paths.query_vectors_path, len(query_ids)))
    index = read_index(paths.index_path, len(doc_ids))
    start = time.perf_counter()
    wanted = retrieval.top_k + retrieval.drop_self_matches
    rows = find_neighbours(index, queries, wanted, settings, cosine=similarity == "cosine", threads=threads)
    query, row = pairs_of(rows, own, retrieval.top_k)
    with checked_while_read(digests):
        parts = list(_scored(queries, query, row, paths.chunk_vectors_paths, sizes, doc_ids, retrieval.top_k, similarity))
        hits = rank_hits(parts, doc_ids, retrieval.top_k)
    seconds = time.perf_counter() - start
    run = _table(query_ids, doc_ids, *hits)
    with run_writer(run_path) as write:
        for batch in run.to_batches(RUN_ROWS):
            write(*batch.columns)
    possible = np.minimum(len(doc_ids) - (own >= 0), retrieval.top_k)
    found = origin_of(
        job,
        system=settings.name,
        chunk=0,
        top_k=retrieval.top_k,
        searched=sources,
        read=job.digests({paths.exact_run_path: output_digest(exact_record, paths.exact_run_path)})
        | job.digests({record_of(paths.exact_run_path): file_digest(record_of(paths.exact_run_path))}),
        seconds=seconds,
    )
    records = list(found.sources.values())
    write_record(
        record_of(run_path),
        job,
        inputs={job.results / path: digest for path, digest in found.inputs.items()},
        outputs={run_path: file_digest(run_path)},
        made=together(record["made"] for record in records),
        seconds={**_sum(records, "seconds"), "search": seconds},
        sizes=_sum(records, "bytes"),
        counts={
            **_sum(records, "counts"),
            "self_matches_dropped": int((own >= 0).sum()),
            "incomplete_queries": int((np.bincount(hits[0], minlength=len(query_ids)) < possible).sum()),
            **count_exact(exact, run, retrieval.top_k),
        },
        system=settings.name,
        dataset=dataset,
        top_k=retrieval.top_k,
        reproducible=sources[paths.index_path]["reproducible"],
        jobs=sorted({record["job"] for record in records}),
    )


def _check_index(path: str, vectors: dict[str, str], settings: ApproximateSettings, similarity: str) -> dict[str, Any]:
    """Return the record of the index, which must be of these vectors and settings, and the file that was recorded."""
    record, record_path = read_json(record_of(path)), record_of(path)
    facts = {"system": settings.approximate, "similarity": similarity, "built": asdict(settings.built)}
    check_inputs(record_path, record, vectors, **facts)
    check_digest(path, output_digest(record, path), record_path)
    return record


def _read_exact(paths: Searched, settings: ApproximateSettings, top_k: int, job: Job) -> tuple[dict[str, Any], pa.Table]:
    """Return the exact run of the dense system on this corpus and its record."""
    record_path = str(record_of(paths.exact_run_path))
    record = read_json(record_path)
    vectors = job.digests(
        {path: output_digest(read_json(record_of(path)), path) for path in (paths.query_vectors_path, *paths.chunk_vectors_paths)}
    )
    check_inputs(record_path, record, vectors, system=settings.approximate)
    if record["top_k"] != top_k:
        raise damaged(record_path, f"it keeps {record['top_k']} documents of a query, expected {top_k}")
    return record, read_run(paths.exact_run_path, output_digest(record, paths.exact_run_path), record_path)


def _scored(
    queries: np.ndarray,
    query: np.ndarray,
    row: np.ndarray,
    vectors_paths: Sequence[str],
    sizes: Sequence[int],
    doc_ids: pa.Array,
    top_k: int,
    similarity: str,
) -> Iterator[Hits]:
    """Yield the exact hits of each chunk: the products of the stored vectors, as in exact search."""
    first = 0
    for path, size, places in zip(vectors_paths, sizes, chunks_of(row, sizes), strict=True):
        order = byte_order(doc_ids.slice(first, size))
        documents = VectorFile(path, size, checked=True)
        pairs = query[places], row[places] - first
        device = torch.device("cpu")
        numbers, rows, scores = exact_of_pairs(queries, documents, *pairs, order, top_k, similarity=similarity, device=device)
        yield numbers, rows + first, scores
        first += size


def _table(
    query_ids: pa.Array, doc_ids: pa.Array, query: np.ndarray, row: np.ndarray, score: np.ndarray, ranks: np.ndarray
) -> pa.Table:
    """Return hits as a run."""
    columns = [query_ids.take(pa.array(query)), doc_ids.take(pa.array(row)), score, ranks]
    return pa.table(columns, schema=RUN)


def _sum(records: Sequence[Any], key: str) -> dict[str, Any]:
    """Return the sum of each number of one kind over all records."""
    total: Counter[str] = Counter()
    for record in records:
        total.update(record.get(key, {}))
    return dict(total)
