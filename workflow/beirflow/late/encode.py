"""Token vectors of the queries and of each chunk of documents."""

import time
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from beirflow.computing.arrival import NotFiniteError
from beirflow.computing.model_settings import Computing, checked_meanwhile
from beirflow.datasets.corpus_files import Documents, read_table
from beirflow.datasets.document_text import as_read
from beirflow.files.errors import ModelError
from beirflow.files.layout import record_of
from beirflow.files.records import Job, write_record
from beirflow.files.writing import DigestingWriter, atomic_path
from beirflow.late.encoder import TokenEncoder
from beirflow.late.settings import LateSettings
from beirflow.late.vectors import SegmentWriter
from beirflow.models.card import Kind
from beirflow.models.model_files import check_model
from beirflow.models.model_places import model_folder
from beirflow.runs.searched import sources_of

TokenEncoding: TypeAlias = Computing[LateSettings]
"""How texts become vectors of tokens; the settings are those for the dataset."""


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
