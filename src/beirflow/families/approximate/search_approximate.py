"""Search an approximate index: a run with exact scores, compared with the exact run of the dense system."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from beirflow.core.digests import file_digest
from beirflow.core.layout import record_of
from beirflow.core.records import Job, check_inputs, output_digest, read_json, together, totals
from beirflow.core.verified import check_digest, checked_while_read, damaged
from beirflow.data.corpus_files import read_table
from beirflow.families.approximate.exact_share import count_exact
from beirflow.families.approximate.neighbours import find_neighbours, pairs_of, read_index
from beirflow.families.approximate.settings import ApproximateSettings
from beirflow.families.dense.top_k import exact_of_pairs
from beirflow.families.dense.vectors import VectorFiles, read_vectors, similarity_of
from beirflow.ranking.candidates import searched_inputs
from beirflow.ranking.ranking import Cut, byte_order, rank_hits
from beirflow.ranking.run_file import RUN, NewRun, read_run, write_run
from beirflow.ranking.searched import check_precision, excluded_rows, read_every_id, read_searched


@dataclass(frozen=True)
class Searched:
    """Paths of the files that a search reads; vectors, index and exact run are next to their records."""

    queries_path: str
    documents_path: str
    model_path: str
    query_vectors_path: str
    chunk_vectors_paths: Sequence[str]  # of chunk 0, 1, …
    index_path: str
    exact_run_path: str  # of the dense system


def search_approximate(
    *,
    settings: ApproximateSettings,
    run: NewRun,
    drop_self_matches: bool,
    similarity: str | None,
    paths: Searched,
    job: Job,
    threads: int = 1,
) -> None:
    """Search all queries, score the documents that are found exactly, and write the run and its record.

    A self match is dropped before the cut. ``similarity`` is ``dot`` or ``cosine``; None for what the record of the model says.
    Raises DataError if a file is not the one that was recorded, or was made from something else.
    """
    torch.set_num_threads(threads)
    vectors_of = {paths.query_vectors_path: paths.queries_path, **dict.fromkeys(paths.chunk_vectors_paths, paths.documents_path)}
    sources = read_searched(vectors_of, paths.model_path, job, system=settings.approximate)
    check_precision(sources, "encode")
    digests = {path: output_digest(record, path) for path, record in sources.items()}
    of_chunks = {path: digests[path] for path in paths.chunk_vectors_paths}
    similarity = similarity_of(similarity, paths.model_path)
    sources[paths.index_path] = _check_index(paths.index_path, job.digests(of_chunks), settings, similarity)
    exact, exact_digests = _read_exact(paths.exact_run_path, job.digests(digests), settings.approximate, run.top_k)
    asked = read_table(paths.queries_path)
    query_ids = asked["query_id"].combine_chunks()
    doc_ids, sizes = read_every_id(paths.documents_path)
    excluded = excluded_rows(asked, doc_ids, drop_self_matches=drop_self_matches)
    left_out = (excluded >= 0).sum(axis=1)
    queries = np.array(read_vectors(paths.query_vectors_path, len(query_ids)))
    index = read_index(paths.index_path, len(doc_ids))
    start = time.perf_counter()
    candidates = run.top_k * settings.rescore
    wanted = candidates + int(left_out.max())  # each document that is left out may take a place
    rows = find_neighbours(index, queries, wanted, settings, cosine=similarity == "cosine", threads=threads)
    query, row = pairs_of(rows, excluded, candidates)
    # The products of the stored vectors, as in exact search; on the CPU, like the index: the job holds no GPU.
    with checked_while_read(of_chunks):
        documents = VectorFiles(paths.chunk_vectors_paths, sizes, checked=True)
        cut, cpu = Cut(run.top_k, byte_order(doc_ids), excluded), torch.device("cpu")
        found = exact_of_pairs(queries, documents, (query, row), cut, similarity=similarity, device=cpu)
    hits = rank_hits([found], doc_ids, run.top_k)
    seconds = time.perf_counter() - start
    columns = (query_ids.take(pa.array(hits[0])), doc_ids.take(pa.array(hits[1])), *hits[2:])
    write_run(run.run_path, [columns])
    possible = np.minimum(len(doc_ids) - left_out, run.top_k)
    inputs, of_sources = searched_inputs(job, sources, job.digests(exact_digests))
    records = list(of_sources.values())
    run.write_record(
        job,
        {job.results / path: digest for path, digest in inputs.items()},
        made=together(record["made"] for record in records),
        seconds={**totals(records, "seconds"), "search": seconds},
        sizes=totals(records, "bytes"),
        counts={
            **totals(records, "counts"),
            "self_matches_dropped": int(left_out.sum()),
            "incomplete_queries": int((np.bincount(hits[0], minlength=len(query_ids)) < possible).sum()),
            **count_exact(exact, pa.table(list(columns), schema=RUN), run.top_k),
        },
        reproducible=sources[paths.index_path]["reproducible"],
        jobs=sorted({record["job"] for record in records}),
    )


def _check_index(path: str, vectors: Mapping[str, str], settings: ApproximateSettings, similarity: str) -> dict[str, Any]:
    """Return the record of the index, which must be of these vectors and settings, and the file that was recorded."""
    record, record_path = read_json(record_of(path)), record_of(path)
    facts = {"system": settings.approximate, "similarity": similarity, "built": asdict(settings.built)}
    check_inputs(record_path, record, vectors, **facts)
    check_digest(path, output_digest(record, path), record_path)
    return record


def _read_exact(path: str, vectors: Mapping[str, str], system: str, top_k: int) -> tuple[pa.Table, dict[str, str]]:
    """Return the run of the dense system by exact search of these vectors, and the digests of its file and of its record."""
    record_path = str(record_of(path))
    record = read_json(record_path)
    check_inputs(record_path, record, vectors, system=system)
    if record["top_k"] != top_k:
        raise damaged(record_path, f"it keeps {record['top_k']} documents of a query, expected {top_k}")
    digest = output_digest(record, path)
    return read_run(path, digest, record_path), {path: digest, record_path: file_digest(record_path)}
