"""Compressed vectors: fewer dimensions, and fewer bits per dimension; for int8, the ranges of a corpus.

Search uses the values that would be stored, as float32 numbers that hold them exactly:

- ``dimensions``: the first ones are kept, for models with Matryoshka vectors;
- cosine: vectors are then scaled to length 1, before they lose bits;
- ``float16``: the nearest number of 16 bits;
- ``int8``: whole numbers from -128 to 127, which divide the range of each dimension over the whole corpus into 256 steps;
- ``binary``: 1 where a component is above 0, else -1; the dot product of two vectors is the number of their equal bits, less that
  of the others, and ranks as their Hamming distance does.

Queries are treated as documents are: int8 with the ranges of the corpus, and what is beyond these at the end of the range. The
numbers are those of ``quantize_embeddings`` of sentence-transformers.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from beirflow.core.digests import file_digest
from beirflow.core.errors import ConfigError, DataError
from beirflow.core.layout import ALL_DIMENSIONS, record_of
from beirflow.core.progress import Progress
from beirflow.core.records import Job, check_inputs, output_digest, read_json, together, write_record
from beirflow.core.verified import check_digest
from beirflow.core.writing import atomic_path
from beirflow.data.corpus_files import sources_of
from beirflow.families.dense.vectors import VectorFile, similarity_of

BITS = {"float32": 32, "float16": 16, "int8": 8, "binary": 1}  # bits of a dimension, by stored type
STEPS = 255  # steps between the least and the largest value of a dimension in int8
SHORTEST = 1e-60  # length to divide by in place of 0
BLOCK_BYTES = 1 << 26  # bytes of the vectors that are read at once for the ranges


@dataclass(frozen=True)
class Compression:
    """Compression of vectors."""

    vectors: str  # ``float32``, ``float16``, ``int8`` or ``binary``
    dimensions: int | None  # number of leading dimensions that are kept; None for all
    cosine: bool  # whether vectors are compared by the cosine
    ranges: np.ndarray | None = None  # for int8, least and largest value of each kept dimension, float32 of shape (2, dimensions)

    def shortened(self, vectors: np.ndarray) -> np.ndarray:
        """Return the kept dimensions of float32 vectors of shape (n, dim), scaled to length 1 for the cosine.

        Raises ConfigError for fewer dimensions than are to be kept, DataError for infinity or not-a-number.
        """
        if self.dimensions is not None and self.dimensions > vectors.shape[1]:
            raise ConfigError(f"dimensions: found {self.dimensions}, but the vectors have {vectors.shape[1]}; keep at most these")
        if not np.isfinite(vectors).all():
            raise DataError("the vectors hold infinity or not-a-number; encode them again, in precision float32")
        kept = np.ascontiguousarray(vectors[:, : self.dimensions])
        if not self.cosine:
            return kept
        exact = kept.astype(np.float64)
        exact /= np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), SHORTEST)
        return exact.astype(np.float32)

    def compressed(self, vectors: np.ndarray) -> np.ndarray:
        """Return the stored form of float32 vectors of shape (n, dim), in float32 numbers that hold it exactly.

        Raises the errors of :meth:`shortened`, and DataError for numbers that float16 cannot hold.
        """
        kept = self.shortened(vectors)
        if self.vectors == "float16":
            if kept.size and not np.abs(kept).max() <= np.finfo(np.float16).max:
                raise DataError("the vectors hold numbers beyond 65504, which float16 cannot hold; use int8 or float32")
            return kept.astype(np.float16).astype(np.float32)
        if self.vectors == "int8" and self.ranges is not None:
            least = self.ranges[0]
            steps = (self.ranges[1] - least) / STEPS
            # A dimension with one value has step 0, and -128 everywhere.
            return np.clip(np.floor((kept - least) / np.where(steps == 0, 1, steps)), 0, STEPS) - np.float32(128)
        if self.vectors == "binary":
            return np.where(kept > 0, np.float32(1), np.float32(-1))
        return kept

    @property
    def similarity(self) -> str:
        """Similarity of stored vectors; all binary ones are equally long."""
        return "cosine" if self.cosine and self.vectors != "binary" else "dot"

    def stored_bytes(self, rows: int, dimensions: int) -> int:
        """Return the bytes of stored vectors with some kept dimensions, each vector in whole bytes."""
        return rows * -(-dimensions * BITS[self.vectors] // 8)


class CompressedFile:
    """Vectors on disk that are compressed as they are read; ``shape`` is rows and kept dimensions."""

    def __init__(self, file: VectorFile, compression: Compression) -> None:
        self._file, self._compression = file, compression
        self.shape = len(file), compression.dimensions or file.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return rows of the file, float32 of shape (rows, dimensions); the slice has no step."""
        return self._compression.compressed(self._file[rows])


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
    bounds = []
    with Progress("find ranges", len(file), "documents") as progress:
        for start in range(0, len(file), rows):
            block = compression.shortened(file[start : start + rows])
            bounds.append((block.min(axis=0), block.max(axis=0)))
            progress.advance(len(block))
    return bounds


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
