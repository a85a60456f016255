"""Search one chunk exactly, in the system's own vectors or in those of the system that it is a variant of."""

import time

import numpy as np
import torch

from beirflow.datasets.corpus_files import own_candidates
from beirflow.dense.compression import CompressedFile, Compression
from beirflow.dense.own_candidates import exact_of_pairs
from beirflow.dense.ranges import read_ranges
from beirflow.dense.top_k import exact_top_k
from beirflow.dense.vectors import VectorFile, read_vectors, similarity_of
from beirflow.files.layout import record_of
from beirflow.files.records import Job, output_digest, read_json
from beirflow.files.verified import checked_while_read
from beirflow.jobs.devices import exact_device
from beirflow.jobs.gpu_job import gpu_job
from beirflow.runs.candidates import Candidates, found_by, write_candidates
from beirflow.runs.own_candidates import candidates_read, rows_of_pairs
from beirflow.runs.ranking import byte_order
from beirflow.runs.searched import check_precision, read_ids, read_searched


def search_chunk(
    *,
    system: str,
    queries_path: str,
    documents_path: str,
    model_path: str,
    chunk: int,
    query_vectors_path: str,
    chunk_vectors_path: str,
    output_path: str,
    similarity: str | None,
    top_k: int,
    drop_self_matches: bool,
    job: Job,
    variant_of: str | None = None,
    vectors: str = "float32",
    dimensions: int | None = None,
    ranges_path: str | None = None,
    device: str = "auto",
    threads: int = 1,
    jobs_per_gpu: int = 1,
) -> None:
    """Find the top k of one chunk for every query, among its own candidates where the dataset says which.

    Args:
        system: Name of the system.
        queries_path: ``queries.parquet``, next to its ``corpus.json``.
        documents_path: ``documents.parquet``, likewise.
        model_path: The record of the model.
        chunk: Number of the chunk.
        query_vectors_path: ``.npy`` of the queries' vectors, float32 of shape (queries, dim), with its record.
        chunk_vectors_path: ``.npy`` of the chunk's vectors, float32 of shape (documents of the chunk, dim).
        output_path: ``.npz`` to write, as :func:`~beirflow.runs.candidates.write_candidates` does.
        similarity: ``dot`` or ``cosine``; None for what the record of the model says.
        top_k: Documents to keep for each query.
        drop_self_matches: Whether a document whose id is the query's id is dropped before the cut.
        job: The job, for the record of the run.
        variant_of: The system that encoded the vectors, which are compressed before they are searched; None where it is this one.
        vectors: Of a variant, what is stored of a vector, as in :class:`~beirflow.dense.compression.Compression`.
        dimensions: Of a variant, how many dimensions are stored; None for all.
        ranges_path: Of int8 vectors, the ranges of the corpus, with their record.
        device: ``auto``, ``cuda``, ``mps`` or ``cpu``.
        threads: Threads to compute with on the CPU.
        jobs_per_gpu: Jobs that may use a GPU at a time.

    Raises:
        ConfigError: The vectors have fewer dimensions than the variant stores.
        DataError: A file is not the one that was recorded, or vectors are not those of this system, model and dataset, or not of
            one precision.
        DeviceError: The GPU fails or has too little memory.
    """
    torch.set_num_threads(threads)
    encoder = variant_of or system
    vectors_of = {query_vectors_path: queries_path, chunk_vectors_path: documents_path}
    sources = read_searched(vectors_of, model_path, job, system=encoder)
    check_precision(sources, "encode")
    similarity, model = similarity_of(similarity, model_path), read_json(model_path)
    ids = read_ids(queries_path, documents_path, chunk, drop_self_matches=drop_self_matches)
    own = own_candidates(queries_path)
    digest = output_digest(sources[chunk_vectors_path], chunk_vectors_path)
    made = {}
    with checked_while_read({chunk_vectors_path: digest}):
        queries = np.array(read_vectors(query_vectors_path, len(ids.queries)))
        encoded = VectorFile(chunk_vectors_path, len(ids.documents), checked=True)
        documents: VectorFile | CompressedFile = encoded
        if variant_of:
            ranges = None
            if ranges_path:
                ranges = read_ranges(ranges_path, {job.below(chunk_vectors_path): digest}, system=encoder, similarity=similarity)
            compression = Compression(vectors, dimensions, similarity == "cosine", ranges)
            queries, documents = compression.compressed(queries), CompressedFile(encoded, compression)
            made = {"vectors": vectors, "dimensions": str(queries.shape[1])}
            similarity = compression.similarity
            for path, stage, stored in ((query_vectors_path, "queries", queries), (chunk_vectors_path, "index", documents)):
                sources[path] = sources[path] | {"bytes": {stage: compression.stored_bytes(*stored.shape)}}
            sources |= {ranges_path: read_json(record_of(ranges_path))} if ranges_path else {}
        with gpu_job(device, jobs_per_gpu):
            start = time.perf_counter()
            order, where = byte_order(ids.documents), exact_device(device)
            if own is None:
                hits = exact_top_k(queries, documents, order, top_k, similarity=similarity, excluded=ids.own, device=where)
            else:
                pairs = rows_of_pairs(own, ids, top_k)
                hits = exact_of_pairs(queries, documents, *pairs, order, top_k, similarity=similarity, device=where)
            seconds = time.perf_counter() - start
    found = found_by(
        job,
        system=system,
        chunk=chunk,
        top_k=top_k,
        searched=sources,
        trained={model_path: model} if "train" in model else {},
        read=candidates_read(queries_path, own, job),
        made=made,
        seconds=seconds,
    )
    write_candidates(output_path, Candidates(*hits, ids.self_matches), found)
