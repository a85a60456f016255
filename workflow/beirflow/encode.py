"""Encode the queries or one chunk of a corpus, and record how."""

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import transformers

from beirflow.encoder import NotFiniteError, TransformersEncoder
from beirflow.errors import ModelError
from beirflow.files import atomic_path, file_digest, read_json, write_json
from beirflow.models import model_folder
from beirflow.system import System


def encode_queries(*, queries_path: str, **settings: Any) -> None:
    """Encode the queries of a dataset.

    Args:
        queries_path: ``queries.parquet``.
        **settings: The other arguments of :func:`encode_table`.
    """
    encode_table(pq.read_table(queries_path), Path(queries_path).name, **settings)


def encode_chunk(*, documents_path: str, chunk: int, **settings: Any) -> None:
    """Encode one chunk of a corpus.

    Args:
        documents_path: ``documents.parquet``.
        chunk: Number of the chunk, which is the number of the row group; no other is read.
        **settings: The other arguments of :func:`encode_table`.
    """
    encode_table(pq.ParquetFile(documents_path).read_row_group(chunk), Path(documents_path).name, **settings)


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
) -> None:
    """Encode a table of ids and texts, each distinct text once.

    Args:
        table: Ids in the first column, ``text`` in the second.
        source: ``queries.parquet`` or ``documents.parquet``, where the table comes from.
        corpus_path: ``corpus.json``, which has the digest of that file.
        model_path: What ``fetch_model`` wrote about the model.
        output_path: ``.npy`` to write, float32 of shape (rows, dim), in the order of the table; and beside it, as ``.json``, the
            record of what was computed, with what, from what, and how long it took.
        system: Fields of :class:`~beirflow.system.System`.
        device: ``auto``, ``cuda`` or ``cpu``.
        precision: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        token_budget: Tokens of a batch, or ``auto``.
        threads: Threads to compute with on the CPU.

    Raises:
        ModelError: The model cannot be loaded, or computes a value that is not finite.
    """
    torch.set_num_threads(threads)
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    start = time.perf_counter()
    model = System(**system)
    encoder = TransformersEncoder(model, model_folder(model), device=device, precision=precision, token_budget=token_budget)
    loaded = time.perf_counter()
    encode = encoder.encode_queries if source == "queries.parquet" else encoder.encode_corpus
    texts = table["text"].combine_chunks().dictionary_encode()
    vectors = _encode_distinct(encode, texts, table, model.name)
    done = time.perf_counter()
    with atomic_path(output_path) as partial, partial.open("wb") as stream:
        np.save(stream, vectors, allow_pickle=False)
    write_json(
        Path(output_path).with_suffix(".json"),
        {
            "system": model.name,
            "rows": table.num_rows,
            "distinct_texts": len(texts.dictionary),
            "dim": encoder.dim,
            "tokens": encoder.tokens,
            "truncated_texts": encoder.truncated,
            "precision": str(encoder.dtype).removeprefix("torch."),
            "device": torch.cuda.get_device_name()
            if encoder.device.type == "cuda"
            else platform.processor() or platform.machine(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "seconds": {"load": loaded - start, "encode": done - loaded},
            "sha256": file_digest(output_path),
            "from_sha256": {"model": file_digest(model_path), source: read_json(corpus_path)["sha256"][source]},
        },
    )


def _encode_distinct(
    encode: Callable[[Sequence[str]], np.ndarray], texts: pa.DictionaryArray, table: pa.Table, system: str
) -> np.ndarray:
    """Encode each distinct text once and give every row the vector of its text."""
    indices = texts.indices.to_numpy()
    try:
        return encode(texts.dictionary.to_pylist())[indices]
    except NotFiniteError as error:
        row = int(np.argmax(indices == error.row))
        name = f"{table.column_names[0]} {table[0][row].as_py()!r}"
        todo = "use precision float32, or look at its text"
        raise ModelError(f"system {system}: the vector of {name} holds infinity or not-a-number; {todo}") from error
