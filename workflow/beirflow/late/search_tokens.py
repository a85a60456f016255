"""Search of one chunk of token vectors."""

import time
from functools import partial

import torch

from beirflow.datasets.corpus_files import own_candidates
from beirflow.files.layout import record_of
from beirflow.files.records import Job, output_digest
from beirflow.files.verified import check_digest, damaged
from beirflow.jobs.devices import exact_device
from beirflow.jobs.gpu_job import gpu_job
from beirflow.late.search import exact_of_pairs, exact_top_k
from beirflow.late.vectors import TokenVectors, in_rows, read_segments
from beirflow.runs.candidates import Candidates, found_by, write_candidates
from beirflow.runs.own_candidates import candidates_read, rows_of_pairs
from beirflow.runs.ranking import byte_order
from beirflow.runs.searched import check_precision, check_rows, check_same, read_ids, read_searched


def search_tokens(
    *,
    system: str,
    queries_path: str,
    documents_path: str,
    model_path: str,
    chunk: int,
    query_vectors_path: str,
    chunk_vectors_path: str,
    output_path: str,
    top_k: int,
    drop_self_matches: bool,
    job: Job,
    device: str = "auto",
    threads: int = 1,
    jobs_per_gpu: int = 1,
) -> None:
    """Find the top k of one chunk for every query, among all its documents, or among its own candidates where it has some.

    Args:
        system: Name of the system.
        queries_path: ``queries.parquet``, next to its ``corpus.json``.
        documents_path: ``documents.parquet``, likewise.
        model_path: The record of the model.
        chunk: Number of the chunk.
        query_vectors_path: The vectors of the queries, with their record.
        chunk_vectors_path: The vectors of the chunk, likewise.
        output_path: ``.npz`` to write, as :func:`~beirflow.runs.candidates.write_candidates` does.
        top_k: Documents to keep for each query.
        drop_self_matches: Whether a document whose id is the query's id is dropped before the cut.
        job: The job, for the record of the run.
        device: ``auto``, ``cuda``, ``mps`` or ``cpu``.
        threads: Threads to compute with on the CPU.
        jobs_per_gpu: Jobs that may use a GPU at a time.

    Raises:
        DataError: A file is not the one that was recorded, or vectors are not those of this system, model and dataset, or not of
            one precision and dimension.
        DeviceError: The GPU fails or has too little memory.
    """
    torch.set_num_threads(threads)
    vectors_of = {query_vectors_path: queries_path, chunk_vectors_path: documents_path}
    records = read_searched(vectors_of, model_path, job, system=system)
    for path, record in records.items():
        check_digest(path, output_digest(record, path), record_of(path))
    check_precision(records, "encode")
    # A chunk without texts has no dimensions.
    with_vectors = {path: record for path, record in records.items() if record["dim"]}
    check_same(with_vectors, lambda record: record["dim"], "dimensions", "encode")
    ids = read_ids(queries_path, documents_path, chunk, drop_self_matches=drop_self_matches)
    own = own_candidates(queries_path)
    queries = _rows_of(query_vectors_path, len(ids.queries))
    check_rows(chunk_vectors_path, records[chunk_vectors_path]["rows"], len(ids.documents), "encode")
    with gpu_job(device, jobs_per_gpu):
        start = time.perf_counter()
        segments, order, where = partial(read_segments, chunk_vectors_path), byte_order(ids.documents), exact_device(device)
        if own is None:
            hits = exact_top_k(queries, segments, order, top_k, excluded=ids.own, device=where)
        else:
            hits = exact_of_pairs(queries, segments, *rows_of_pairs(own, ids, top_k), order, top_k, device=where)
    seconds, read = time.perf_counter() - start, candidates_read(queries_path, own, job)
    found = found_by(job, system=system, chunk=chunk, top_k=top_k, searched=records, read=read, seconds=seconds)
    write_candidates(output_path, Candidates(*hits, ids.self_matches), found)


def _rows_of(path: str, rows: int) -> TokenVectors:
    try:
        return in_rows(read_segments(path), rows)
    except ValueError as error:
        raise damaged(path, str(error)) from error
