"""Compressed vectors: fewer dimensions, and fewer bits per dimension.

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

from dataclasses import dataclass

import numpy as np

from beirflow.core.errors import ConfigError, DataError
from beirflow.families.dense.vectors import VectorFile, VectorFiles

BITS = {"float32": 32, "float16": 16, "int8": 8, "binary": 1}  # bits of a dimension, by stored type
STEPS = 255  # steps between the least and the largest value of a dimension in int8
SHORTEST = 1e-60  # length to divide by in place of 0


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

    def __init__(self, file: VectorFile | VectorFiles, compression: Compression) -> None:
        self._file, self._compression = file, compression
        self.shape = len(file), compression.dimensions or file.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return rows of the file, float32 of shape (rows, dimensions); the slice has no step."""
        return self._compression.compressed(self._file[rows])
