"""The steps of a late-interaction system: encode the queries and each chunk, search each chunk."""

import time
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import torch

from beirflow.computing.arrival import NotFiniteError
from beirflow.computing.model_settings import Computing, checked_meanwhile, computing_of
from beirflow.datasets.corpus_files import Documents, own_candidates, read_table
from beirflow.datasets.corpus_reader import as_read
from beirflow.files.errors import ModelError
from beirflow.files.layout import record_of
from beirflow.files.records import Job, output_digest, write_record
from beirflow.files.verified import check_digest, damaged
from beirflow.files.writing import DigestingWriter, atomic_path
from beirflow.jobs.devices import exact_device
from beirflow.jobs.gpu_job import gpu_job
from beirflow.late.encoder import TokenEncoder
from beirflow.late.search import exact_of_pairs, exact_top_k
from beirflow.late.settings import LateSettings
from beirflow.late.vectors import SegmentWriter, TokenVectors, in_rows, read_segments
from beirflow.models.card import Kind
from beirflow.models.model_files import check_model
from beirflow.models.model_places import model_folder
from beirflow.runs.candidates import Candidates, found_by, write_candidates
from beirflow.runs.own_candidates import candidates_read, rows_of_pairs
from beirflow.runs.ranking import byte_order
from beirflow.runs.searched import check_precision, check_rows, check_same, read_ids, read_searched, sources_of

TokenEncoding: TypeAlias = Computing[LateSettings]
"""How texts become vectors of tokens; the settings are those for the dataset."""


def token_encoding_of(snakemake: Any) -> TokenEncoding:
    """How a job encodes, from Snakemake's object of that name."""
    return computing_of(snakemake, LateSettings(**snakemake.params.settings))


def encode_query_tokens(*, queries_path: str, output_path: str, encoding: TokenEncoding, job: Job) -> None:
    """Encode the tokens of the queries of a dataset, each distinct text once.

    Args:
        queries_path: ``queries.parquet``, next to its ``corpus.json``.
        output_path: Vectors to write, and their record.
        encoding: How.
        job: The job, for the record.

    Raises:
        ModelError: The model cannot be loaded, or computes a value that is not finite.
        DeviceError: The GPU fails or has too little memory.
        DataError: A file is not the one that was recorded.
    """
    _encode(read_table(queries_path), queries_path, "queries", output_path, encoding, job)


def encode_tokens(*, documents_path: str, chunk: int, output_path: str, encoding: TokenEncoding, job: Job) -> None:
    """Encode the tokens of the documents of one chunk, each distinct text once; they are written while the next are computed.

    Args:
        documents_path: ``documents.parquet``, next to its ``corpus.json``.
        chunk: Number of the chunk.
        output_path: Vectors to write, and their record.
        encoding: How.
        job: The job, for the record.

    Raises:
        ModelError: The model cannot be loaded, or computes a value that is not finite.
        DeviceError: The GPU fails or has too little memory.
        DataError: A file is not the one that was recorded.
    """
    with Documents(documents_path) as documents:
        table = as_read(documents.read([chunk], ["doc_id", "text"]))
    _encode(table, documents_path, "documents", output_path, encoding, job)


def _encode(table: pa.Table, source_path: str, kind: Kind, output_path: str, encoding: TokenEncoding, job: Job) -> None:
    """Encode the texts of a table that comes from ``source_path``, and record how."""
    encoding.use_threads()
    stage = "queries" if kind == "queries" else "index"
    inputs = sources_of(job, source_path, encoding.model_path)
    texts = table["text"].combine_chunks().dictionary_encode()
    indices = texts.indices.to_numpy()
    start = time.perf_counter()
    gpu = encoding.gpu(saves_memory="lower token_budget or document_length")
    with gpu, atomic_path(output_path) as unfinished, DigestingWriter(unfinished) as stream:
        encoder = load_encoder(encoding, kind)
        loaded = time.perf_counter()
        try:
            with SegmentWriter(stream, indices) as writer:
                for vectors in encoder.windows(texts.dictionary.to_pylist()):
                    writer.add(vectors)
        except NotFiniteError as error:
            name = f"{table.column_names[0]} {table[0][int(np.argmax(indices == error.row))].as_py()!r}"
            found = f"system {encoding.settings.name}: a vector of {name} holds infinity or not-a-number"
            raise ModelError(f"{found}; use precision float32, or look at its text") from error
        digest = stream.digest()
    write_record(
        record_of(output_path),
        job,
        inputs={job.results / name: digest for name, digest in inputs.items()},
        outputs={output_path: digest},
        made=encoder.made(),
        seconds={"load": loaded - start, stage: time.perf_counter() - loaded},
        sizes={stage: Path(output_path).stat().st_size},
        counts={"tokens": encoder.tokens, f"truncated_{kind}": encoder.truncated, f"vectors_of_{kind}": writer.tokens},
        system=encoding.settings.name,
        rows=table.num_rows,
        distinct_texts=len(texts.dictionary),
        dim=writer.dim,
        encoder=encoder.described(),
    )


def load_encoder(encoding: TokenEncoding, kind: Kind) -> TokenEncoder:
    """Load the encoder of one kind of text, while the digests of its files are compared.

    Args:
        encoding: How tokens are encoded.
        kind: ``queries`` or ``documents``.

    Returns:
        It.

    Raises:
        ModelError: The model cannot be loaded.
    """
    with checked_meanwhile(partial(check_model, encoding.settings, encoding.model_path)):
        return TokenEncoder(encoding.settings, model_folder(encoding.settings), kind, **encoding.on)


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
