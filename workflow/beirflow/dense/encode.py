"""Encode the queries or one chunk of a corpus, and record how."""

import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
import transformers

from beirflow.datasets.corpus_files import Documents, read_table
from beirflow.dense.reuse import SharedVectors, find_vectors
from beirflow.dense.vectors import VectorWriter, origin_of
from beirflow.files.errors import ModelError
from beirflow.files.records import write_json
from beirflow.files.writing import DigestingWriter, atomic_path
from beirflow.jobs.devices import driver_version
from beirflow.jobs.gpu_job import gpu_job
from beirflow.models.encoder import NotFiniteError, TransformersEncoder
from beirflow.models.model_files import check_model, model_folder
from beirflow.models.settings import System

Write = Callable[[np.ndarray], None]


def encode_queries(*, queries_path: str, **settings: Any) -> None:
    """Encode the queries of a dataset.

    Args:
        queries_path: ``queries.parquet``.
        **settings: The other arguments of :func:`encode_table`.

    Raises:
        DataError: The queries were changed after they were written.
    """
    encode_table(read_table(queries_path), Path(queries_path).name, **settings)


def encode_chunk(*, documents_path: str, chunk: int, shared_paths: Sequence[str] = (), **settings: Any) -> None:
    """Encode one chunk of a corpus.

    Args:
        documents_path: ``documents.parquet``.
        chunk: Number of the chunk, which is the number of the row group; no other is read.
        shared_paths: Where another dataset has the same texts, as for :func:`~beirflow.dense.reuse.find_vectors`; else empty.
        **settings: The other arguments of :func:`encode_table`.

    Raises:
        DataError: The chunk was changed after it was written, or the vectors of the other dataset cannot be taken over.
    """
    shared = None
    if shared_paths:
        paths = {name: settings[name] for name in ("corpus_path", "model_path")}
        shared = find_vectors(shared_paths, chunk, system=settings["system"]["name"], **paths)
    with Documents(documents_path) as documents:
        table = documents.read([chunk])
    encode_table(table, Path(documents_path).name, shared=shared, **settings)


def encode_table(
    table: pa.Table,
    source: str,
    *,
    corpus_path: str,
    model_path: str,
    output_path: str,
    system: Mapping[str, Any],
    device: str,
    precision: str,
    token_budget: int | str,
    threads: int,
    jobs_per_gpu: int = 1,
    shared: SharedVectors | None = None,
    code: str = "",
) -> None:
    """Encode a table of ids and texts, each distinct text once.

    Args:
        table: Ids in the first column, ``text`` in the second.
        source: ``queries.parquet`` or ``documents.parquet``, where the table comes from.
        corpus_path: ``corpus.json``, which has the digest of that file.
        model_path: What ``fetch_model`` wrote about the model.
        output_path: ``.npy`` to write, float32 of shape (rows, dim), in the order of the table; and beside it, as ``.json``, the
            record of what was computed, with what, from what, and how long it took.
        system: Fields of :class:`~beirflow.models.settings.System`.
        device: ``auto``, ``cuda`` or ``cpu``.
        precision: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        token_budget: Tokens of a batch, or ``auto``.
        threads: Threads to compute with on the CPU.
        jobs_per_gpu: Jobs that may use a GPU at a time; where all GPUs are taken, the model waits for one before it is loaded.
        shared: Vectors of another dataset to take over; only the other texts are encoded, and only they count as distinct texts,
            tokens and truncated texts in the record.
        code: Digest of the code that runs, for the record.

    Raises:
        ModelError: The model cannot be loaded, or computes a value that is not finite.
        DeviceError: The GPU fails or has too little memory.
        DataError: A record was damaged, the model is not the one that was recorded, or the vectors to take over were damaged
            or have another precision.
    """
    torch.set_num_threads(threads)
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    model = System(**system)
    origin = origin_of(model.name, Path(corpus_path).with_name(source), model_path)
    options = {"device": device, "precision": precision, "token_budget": token_budget}
    own_gpu = gpu_job(device, jobs_per_gpu, saves_memory="lower token_budget or max_length")
    gpu = own_gpu if shared is None or shared.missing.any() else nullcontext()
    with gpu, atomic_path(output_path) as partial, DigestingWriter(partial) as stream:
        write = VectorWriter(stream, table.num_rows).write
        if shared:
            how = _encode_missing(table, source, model, model_path, options, shared, write)
        else:
            how = _encode(table, source, model, model_path, options, write)
        digest = stream.digest()
    write_json(
        Path(output_path).with_suffix(".json"),
        {
            "system": origin.pop("system"),
            "rows": table.num_rows,
            **how,
            "python": platform.python_version(),
            "code": code,
            "sha256": digest,
            "from_sha256": origin | (shared.from_sha256() if shared else {}),
        },
    )


def _encode_missing(
    table: pa.Table,
    source: str,
    system: System,
    model_path: str,
    options: Mapping[str, Any],
    shared: SharedVectors,
    write: Write,
) -> dict[str, Any]:
    """Take over the vectors that are shared and encode what is missing; if nothing is, no model is loaded."""
    if options["precision"] != "auto":
        shared.check_precision(options["precision"])
    start = time.perf_counter()
    vectors, how = shared.gather(), shared.nothing_encoded()
    gathered = time.perf_counter() - start
    if shared.missing.any():
        parts: list[np.ndarray] = []
        how = _encode(table.filter(pa.array(shared.missing)), source, system, model_path, options, parts.append, shared)
        vectors[shared.missing] = np.concatenate(parts)
    write(vectors)
    how["seconds"]["encode"] += gathered
    return how | {"taken_over": shared.taken_over()}


def _encode(
    table: pa.Table,
    source: str,
    system: System,
    model_path: str,
    options: Mapping[str, Any],
    write: Write,
    shared: SharedVectors | None = None,
) -> dict[str, Any]:
    """Load the model, encode a table and hand its vectors on, in order; what is recorded about it."""
    start = time.perf_counter()
    folder = model_folder(system)
    with ThreadPoolExecutor(max_workers=1) as beside:
        checked = beside.submit(check_model, system, folder, model_path)
        encoder = TransformersEncoder(system, folder, **options)
        checked.result()
    precision = str(encoder.dtype).removeprefix("torch.")
    if shared:
        shared.check_precision(precision)
    loaded = time.perf_counter()
    texts = table["text"].combine_chunks().dictionary_encode()
    indices = texts.indices.to_numpy()
    windows = encoder.windows(texts.dictionary.to_pylist(), "queries" if source == "queries.parquet" else "documents")
    try:
        for vectors in in_rows(windows, indices, encoder.dim):
            write(vectors)
    except NotFiniteError as error:
        row = int(np.argmax(indices == error.row))
        name = f"{table.column_names[0]} {table[0][row].as_py()!r}"
        todo = "use precision float32, or look at its text"
        raise ModelError(f"system {system.name}: the vector of {name} holds infinity or not-a-number; {todo}") from error
    done = time.perf_counter()
    return {
        "distinct_texts": len(texts.dictionary),
        "dim": encoder.dim,
        "tokens": encoder.tokens,
        "truncated_texts": encoder.truncated,
        "precision": precision,
        "device": torch.cuda.get_device_name() if encoder.device.type == "cuda" else platform.processor() or platform.machine(),
        **({"driver": driver_version()} if encoder.device.type == "cuda" else {}),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "seconds": {"load": loaded - start, "encode": done - loaded},
    }


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
