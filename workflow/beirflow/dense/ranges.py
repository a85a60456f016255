"""The ranges of a corpus: the smallest and largest value of each dimension over all its vectors, for int8."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from beirflow.datasets.corpus_files import sources_of
from beirflow.dense.compression import Compression
from beirflow.dense.vectors import VectorFile, similarity_of
from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.layout import ALL_DIMENSIONS, record_of
from beirflow.files.progress import Progress
from beirflow.files.records import Job, check_inputs, output_digest, read_json, together, write_record
from beirflow.files.verified import check_digest
from beirflow.files.writing import atomic_path

BLOCK_BYTES = 1 << 26
"""Of vectors that are read at once."""


def find_ranges(
    *,
    system: str,
    documents_path: str,
    model_path: str,
    chunk_vectors_paths: Sequence[str],
    output_path: str,
    similarity: str | None,
    dimensions: int | None,
    job: Job,
) -> None:
    """Find the ranges of a corpus.

    Args:
        system: The system that encoded it.
        documents_path: ``documents.parquet``, next to its ``corpus.json``.
        model_path: The record of the model.
        chunk_vectors_paths: The vectors of chunk 0, 1, …, each with its record.
        output_path: ``.npy`` to write, float32 of shape (2, dimensions): the least values, and the largest; and its record.
        similarity: ``dot``, or ``cosine``, for which vectors are scaled to length 1; None for that in the record of the model.
        dimensions: Number of leading dimensions that are kept; None for all.
        job: The job, for the record.

    Raises:
        ConfigError: The vectors have fewer dimensions.
        DataError: A file is not the one that was recorded, or vectors are not those of this system, model and corpus.
    """
    start = time.perf_counter()
    similarity = similarity_of(similarity, model_path)
    compression = Compression("int8", dimensions, similarity == "cosine")
    sources = sources_of(job, documents_path, model_path)
    inputs, made, bounds = dict(sources), [], []
    for path in chunk_vectors_paths:
        record = read_json(record_of(path))
        check_inputs(record_of(path), record, sources, system=system)
        bounds += _bounds(VectorFile(path, record["rows"]), compression)
        inputs |= record["inputs"] | {job.below(path): output_digest(record, path)}
        inputs[job.below(record_of(path))] = file_digest(record_of(path))
        made.append(record["made"])
    if not bounds:
        raise DataError(f"{documents_path}: the corpus has no document, so there are no ranges")
    ranges = np.stack([np.min([least for least, _ in bounds], axis=0), np.max([largest for _, largest in bounds], axis=0)])
    with atomic_path(output_path) as partial, partial.open("wb") as stream:
        np.save(stream, ranges)
    write_record(
        record_of(output_path),
        job,
        inputs={job.results / path: digest for path, digest in inputs.items()},
        outputs={output_path: file_digest(output_path)},
        made=together(made),
        seconds={"index": time.perf_counter() - start},
        sizes={"index": Path(output_path).stat().st_size},
        system=system,
        dimensions=dimensions,
        similarity=similarity,
    )


def _bounds(file: VectorFile, compression: Compression) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return least and largest values of the dimensions, for each block of a chunk."""
    rows = max(1, BLOCK_BYTES // (4 * file.shape[1]))
    found = []
    with Progress("find ranges", len(file), "documents") as progress:
        for start in range(0, len(file), rows):
            block = compression.shortened(file[start : start + rows])
            found.append((block.min(axis=0), block.max(axis=0)))
            progress.advance(len(block))
    return found


def read_ranges(path: str, expected: Mapping[str, str], *, system: str, similarity: str) -> np.ndarray:
    """Read the ranges of a corpus, float32 of shape (2, dimensions).

    ``expected`` are digests of inputs that they must have been found in, by path below the results. Raises DataError for a
    changed file, or ranges of something else.
    """
    record_path = record_of(path)
    record = read_json(record_path)
    check_inputs(record_path, record, expected, system=system, similarity=similarity)
    check_digest(path, output_digest(record, path), record_path)
    return np.load(path, allow_pickle=False)


def dimensions_of(dimensions: str) -> int | None:
    """Return the number of dimensions that a path names; None for all."""
    return None if dimensions == ALL_DIMENSIONS else int(dimensions)
