"""Search of one chunk of term weights."""

import time

from beirflow.files.background import read_ahead
from beirflow.files.records import Job, output_digest
from beirflow.files.verified import checked_while_read
from beirflow.runs.candidates import Candidates, found_by, write_candidates
from beirflow.runs.searched import check_precision, check_rows, read_expansion, read_ids, read_searched
from beirflow.sparse.files import read_queries, read_segments
from beirflow.sparse.products import turned_round
from beirflow.sparse.search import search_segments
from beirflow.sparse.settings import SparseSettings


def search_weights(
    *,
    settings: SparseSettings,
    queries_path: str,
    documents_path: str,
    model_path: str,
    chunk: int,
    query_weights_path: str,
    chunk_weights_path: str,
    output_path: str,
    top_k: int,
    drop_self_matches: bool,
    job: Job,
    expansion_path: str | None = None,
    threads: int = 1,
) -> None:
    """Find the top k of one chunk for every query, among the documents that have one of its terms.

    Args:
        settings: The system.
        queries_path: ``queries.parquet``, next to its ``corpus.json``.
        documents_path: ``documents.parquet``, likewise.
        model_path: The record of the models.
        chunk: Number of the chunk.
        query_weights_path: The weights of the queries, with their record.
        chunk_weights_path: The weights of the chunk, likewise.
        output_path: ``.npz`` to write, as :func:`~beirflow.runs.candidates.write_candidates` does.
        top_k: Documents to keep for each query.
        drop_self_matches: Whether a document whose id is the query's id is dropped before the cut.
        job: The job, for the record of the run.
        expansion_path: What was added to the documents of the chunk; only its record is read, for what it cost.
        threads: Threads to compute with.

    Raises:
        DataError: A file is not the one that was recorded, or weights are not those of this system, model and dataset, or not of
            one precision.
    """
    weights_of = {query_weights_path: queries_path, chunk_weights_path: documents_path}
    records = read_searched(weights_of, model_path, job, system=settings.name)
    digests = {path: output_digest(record, path) for path, record in records.items()}
    check_precision(records, "weigh")
    if expansion_path is not None:
        records[expansion_path] = read_expansion(expansion_path, chunk_weights_path, records[chunk_weights_path], job)
    with checked_while_read(digests):
        ids = read_ids(queries_path, documents_path, chunk, drop_self_matches=drop_self_matches)
        start = time.perf_counter()
        queries = read_queries(query_weights_path, settings.quantize)
        check_rows(query_weights_path, len(queries.counts), len(ids.queries), "weigh")
        check_rows(chunk_weights_path, records[chunk_weights_path]["rows"], len(ids.documents), "weigh")
        hits, self_matches = search_segments(
            queries,
            turned_round(read_ahead(read_segments(chunk_weights_path, settings.quantize)), threads),
            ids.documents,
            top_k,
            excluded=ids.own,
            ties=settings.ties,
            threads=threads,
        )
        seconds = time.perf_counter() - start
    found = found_by(job, system=settings.name, chunk=chunk, top_k=top_k, searched=records, seconds=seconds, ties=settings.ties)
    write_candidates(output_path, Candidates(*hits, self_matches), found)
