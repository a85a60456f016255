"""The ranges of the vectors of a corpus, for int8: the least and the largest value of each dimension."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.layout import ALL_DIMENSIONS, record_of
from beirflow.core.progress import Progress
from beirflow.core.records import Job, check_inputs, output_digest, read_json, together, write_record
from beirflow.core.verified import check_digest, checked_while_read
from beirflow.core.writing import atomic_path
from beirflow.families.dense.compression import Compression
from beirflow.families.dense.vectors import VectorFiles, similarity_of
from beirflow.ranking.candidates import searched_inputs
from beirflow.ranking.searched import read_searched

BLOCK_BYTES = 1 << 26  # bytes of the vectors that are read at once


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
    """Find the ranges of a corpus from the vectors of chunk 0, 1, …, each with its record.

    ``output_path`` is the ``.npy`` to write, float32 of shape (2, dimensions): the least values, and the largest; beside it, its
    record. For the cosine, vectors are scaled to length 1; a similarity of None is that in the record of the model. Raises
    ConfigError for vectors with fewer dimensions, DataError for a file that is not the recorded one, or vectors of another
    system, model or corpus.
    """
    start = time.perf_counter()
    similarity = similarity_of(similarity, model_path)
    compression = Compression("int8", dimensions, similarity == "cosine")
    records = read_searched(dict.fromkeys(chunk_vectors_paths, documents_path), model_path, job, system=system)
    with checked_while_read({path: output_digest(record, path) for path, record in records.items()}):
        files = VectorFiles(chunk_vectors_paths, [record["rows"] for record in records.values()], checked=True)
        if not len(files):
            raise DataError(f"{documents_path}: the corpus has no document, so there are no ranges")
        ranges = _ranges(files, compression)
    with atomic_path(output_path) as partial, partial.open("wb") as stream:
        np.save(stream, ranges)
    write_record(
        record_of(output_path),
        job,
        inputs={job.results / path: digest for path, digest in searched_inputs(job, records)[0].items()},
        outputs={output_path: file_digest(output_path)},
        made=together(record["made"] for record in records.values()),
        seconds={"index": time.perf_counter() - start},
        sizes={"index": Path(output_path).stat().st_size},
        system=system,
        dimensions=dimensions,
        similarity=similarity,
    )


def _ranges(vectors: VectorFiles, compression: Compression) -> np.ndarray:
    """Return the least and the largest values of the kept dimensions, float32 of shape (2, dimensions)."""
    rows, bounds = max(1, BLOCK_BYTES // (4 * vectors.shape[1])), []
    with Progress("find ranges", len(vectors), "documents") as progress:
        for start in range(0, len(vectors), rows):
            block = compression.shortened(vectors[start : start + rows])
            bounds.append((block.min(axis=0), block.max(axis=0)))
            progress.advance(len(block))
    least, largest = zip(*bounds, strict=True)
    return np.stack([np.min(least, axis=0), np.max(largest, axis=0)])


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
