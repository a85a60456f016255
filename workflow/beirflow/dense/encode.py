"""Encode the queries or one chunk of a corpus, and record how."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from beirflow.computing.arrival import NotFiniteError
from beirflow.computing.model_settings import Computing, checked_meanwhile
from beirflow.datasets.corpus_files import Documents, read_table
from beirflow.datasets.document_text import as_read
from beirflow.dense.reuse import SharedVectors, find_vectors
from beirflow.dense.vectors import VectorWriter
from beirflow.encoders.load import load_encoder
from beirflow.encoders.query_lists import windows_of
from beirflow.files.errors import ModelError
from beirflow.files.layout import record_of
from beirflow.files.records import Job, together, write_record
from beirflow.files.writing import DigestingWriter, atomic_path
from beirflow.models.card import Kind
from beirflow.models.model_files import check_model
from beirflow.models.model_places import next_to_record
from beirflow.models.settings import EncoderSettings
from beirflow.runs.searched import sources_of

logger = logging.getLogger(__name__)

Write = Callable[[np.ndarray], None]


Encoding: TypeAlias = Computing[EncoderSettings]
"""How texts become vectors."""


def encode_queries(*, queries_path: str, output_path: str, encoding: Encoding, job: Job) -> None:
    """Encode the queries of a dataset, each distinct text once.

    Args:
        queries_path: ``queries.parquet``, next to its ``corpus.json``.
        output_path: ``.npy`` to write, float32 of shape (queries, dim), in the order of the table, and its record.
        encoding: How.
        job: The job, for the record.

    Raises:
        ModelError: The model cannot be loaded, or computes a value that is not finite.
        DeviceError: The GPU fails or has too little memory.
        DataError: A file is not the one that was recorded.
    """
    _encode_table(read_table(queries_path), queries_path, "queries", output_path, encoding, job)


def encode_chunk(
    *, documents_path: str, chunk: int, output_path: str, encoding: Encoding, job: Job, shared_paths: Sequence[str] = ()
) -> None:
    """Encode one chunk of a corpus, each distinct text once.

    Args:
        documents_path: ``documents.parquet``, next to its ``corpus.json``.
        chunk: Number of the chunk, which is the number of the row group; no other is read.
        output_path: ``.npy`` to write, float32 of shape (documents, dim), in the order of the chunk, and its record.
        encoding: How.
        job: The job, for the record.
        shared_paths: Where another dataset has the same texts, as for :func:`~beirflow.dense.reuse.find_vectors`; else empty.
            Only the other texts are encoded, and only they count as distinct texts, tokens and truncated texts in the record.

    Raises:
        ModelError: The model cannot be loaded, or computes a value that is not finite.
        DeviceError: The GPU fails or has too little memory.
        DataError: A file is not the one that was recorded, or the vectors of the other dataset cannot be reused.
    """
    shared = None
    # Texts are matched as they are joined by a space; another separator may tell equal ones apart.
    if shared_paths and encoding.settings.title_separator is None:
        name, model_path = encoding.settings.name, encoding.model_path
        shared = find_vectors(shared_paths, chunk, system=name, documents_path=documents_path, model_path=model_path, job=job)
    with Documents(documents_path) as documents:
        table = as_read(documents.read([chunk], ["doc_id", "text", "title_bytes"]), encoding.settings.between)
    _encode_table(table, documents_path, "documents", output_path, encoding, job, shared)


def _encode_table(
    table: pa.Table,
    source_path: str,
    kind: Kind,
    output_path: str,
    encoding: Encoding,
    job: Job,
    shared: SharedVectors | None = None,
) -> None:
    """Encode the texts of a table that comes from ``source_path``, and record how."""
    encoding = replace(encoding, settings=next_to_record(encoding.settings, encoding.model_path))
    encoding.use_threads()
    inputs = sources_of(job, source_path, encoding.model_path) | (shared.inputs() if shared else {})
    nothing_to_encode = shared is not None and not shared.missing.any()
    gpu = nullcontext() if nothing_to_encode else encoding.gpu(saves_memory="lower token_budget or max_length")
    with gpu, atomic_path(output_path) as partial, DigestingWriter(partial) as stream:
        write = VectorWriter(stream, table.num_rows).write
        how = _encode_missing(table, kind, encoding, shared, write) if shared else _encode(table, kind, encoding, write)
        digest = stream.digest()
    seconds = how.pop("seconds")
    stage = "queries" if kind == "queries" else "index"
    write_record(
        record_of(output_path),
        job,
        inputs={job.results / path: digest for path, digest in inputs.items()},
        outputs={output_path: digest},
        seconds={"load": seconds["load"], stage: seconds["encode"]},
        sizes={stage: Path(output_path).stat().st_size},
        system=encoding.settings.name,
        rows=table.num_rows,
        **how,
    )


def _encode_missing(table: pa.Table, kind: Kind, encoding: Encoding, shared: SharedVectors, write: Write) -> dict[str, Any]:
    """Reuse the vectors that are shared and encode what is missing; if nothing is, no model is loaded."""
    if encoding.precision != "auto" and not encoding.settings.has_own_precision:
        shared.check_precision(encoding.precision)
    start = time.perf_counter()
    vectors, how = shared.gather(), shared.nothing_encoded()
    gathered = time.perf_counter() - start
    if shared.missing.any():
        parts: list[np.ndarray] = []
        how = _encode(table.filter(pa.array(shared.missing)), kind, encoding, parts.append, shared)
        vectors[shared.missing] = np.concatenate(parts)
    write(vectors)
    how["seconds"]["encode"] += gathered
    how["made"] = together([how["made"], *shared.made()])
    how["counts"]["documents_reused"] = int((~shared.missing).sum())
    return how


def _encode(table: pa.Table, kind: Kind, encoding: Encoding, write: Write, shared: SharedVectors | None = None) -> dict[str, Any]:
    """Load the model, encode a table and hand its vectors on, in order; what is recorded about it."""
    start = time.perf_counter()
    settings = encoding.settings
    with checked_meanwhile(partial(check_model, settings, encoding.model_path)):
        encoder = load_encoder(settings, kind, **encoding.on)
    made = encoder.made()
    if shared:
        shared.check_precision(made["precision"])
    loaded = time.perf_counter()
    texts = table["text"].combine_chunks().dictionary_encode()
    indices = texts.indices.to_numpy()
    windows = windows_of(encoder, texts.dictionary.to_pylist(), kind)
    alike = _Alike()
    try:
        for vectors in in_rows(windows, indices, encoder.dim):
            alike.add(vectors)
            write(vectors)
    except NotFiniteError as error:
        row = int(np.argmax(indices == error.row))
        name = f"{table.column_names[0]} {table[0][row].as_py()!r}"
        todo = (
            "look at its text"
            if made["precision"] not in ("float16", "bfloat16")
            else "use precision float32, or look at its text"
        )
        raise ModelError(f"system {settings.name}: the vector of {name} holds infinity or not-a-number; {todo}") from error
    done = time.perf_counter()
    counts = {"tokens": encoder.tokens, f"truncated_{kind}": encoder.truncated}
    alike.warn(settings.name, kind, len(texts.dictionary))
    return {
        "distinct_texts": len(texts.dictionary),
        "dim": encoder.dim,
        "made": made,
        "encoder": encoder.described(),
        "counts": {name: count for name, count in counts.items() if count is not None},
        "seconds": {"load": loaded - start, "encode": done - loaded},
    }


class _Alike:
    """Whether all vectors of a table are the same one: an encoder that says nothing of a text ranks documents by their ids."""

    def __init__(self) -> None:
        self._first: np.ndarray | None = None
        self._same = True

    def add(self, vectors: np.ndarray) -> None:
        """Look at more vectors, float32 of shape (n, dim)."""
        if len(vectors) and self._first is None:
            self._first = vectors[0].copy()
        self._same = self._same and bool((vectors == self._first).all())

    def warn(self, system: str, kind: Kind, texts: int) -> None:
        """Say so where several distinct texts have one vector."""
        if texts > 1 and self._same and self._first is not None:
            what = "the same one" if self._first.any() else "zero"
            logger.warning("%s: the vectors of %d different %s are all %s; the ids alone rank them", system, texts, kind, what)


def in_rows(windows: Iterable[tuple[int, np.ndarray]], indices: np.ndarray, dim: int) -> Iterator[np.ndarray]:
    """Give every row the vector of its text, as soon as that is there.

    Args:
        windows: Vectors of the distinct texts, in order: index of the first text, and float32 of shape (texts, dim).
        indices: Number of each row's text, integers of shape (rows,); numbers appear in ascending order for the first time.
        dim: Dimensions, for a table without rows.

    Yields:
        Vectors of the next rows, float32 of shape (n, dim).
    """
    repeated = np.bincount(indices) > 1
    seen = np.maximum.accumulate(indices)
    kept: dict[int, np.ndarray] = {}
    row = 0
    for start, vectors in windows:
        kept |= {start + i: vectors[i].copy() for i in np.flatnonzero(repeated[start : start + len(vectors)]).tolist()}
        end = int(np.searchsorted(seen, start + len(vectors)))
        numbers = indices[row:end]
        block = vectors[np.maximum(numbers - start, 0)]
        for place in np.flatnonzero(numbers < start).tolist():
            block[place] = kept[int(numbers[place])]
        yield block
        row = end
    if not len(indices):
        yield np.empty((0, dim), dtype=np.float32)
