"""The ranges of the vectors of a corpus, for int8: the least and the largest value of each dimension."""

from collections.abc import Sequence

import numpy as np

from beirflow.core.artifact import Artifact, Made, Stream, step
from beirflow.core.errors import DataError
from beirflow.core.layout import ALL_DIMENSIONS, RANGES
from beirflow.core.progress import Progress
from beirflow.core.records import together
from beirflow.core.verified import damaged
from beirflow.data.corpus_files import Documents
from beirflow.families.dense.compression import Compression
from beirflow.families.dense.vectors import VectorFiles, Vectors, similarity_of
from beirflow.models.model_record import ModelRecord

BLOCK_BYTES = 1 << 26  # bytes of the vectors that are read at once


class Ranges(Artifact):
    """The ranges of a corpus on disk, float32 of shape (2, dimensions): the least values, and the largest."""

    pattern = RANGES
    represents = True

    def read(self, similarity: str) -> np.ndarray:
        """Read ranges that were found for a similarity; DataError if it was another."""
        if (found := self.record["similarity"]) != similarity:
            raise damaged(self.record_path, f"it was made from the similarity {found}, but {similarity} is used here")
        return np.load(self.path, allow_pickle=False)

    @staticmethod
    def write(stream: Stream, data: np.ndarray) -> None:
        """Write ranges."""
        np.save(stream, data)


@step(Ranges, stage="index", ancestors=None, same=("system",))
def find_ranges(
    documents: Documents,
    model: ModelRecord,
    chunk_vectors: Sequence[Vectors],
    system: str,
    similarity: str | None,
    dimensions: int | None,
) -> Made:
    """Find the ranges of a corpus from the vectors of chunk 0, 1, ….

    For the cosine, vectors are scaled to length 1; a similarity of None is that in the record of the model. Raises ConfigError
    for vectors with fewer dimensions, DataError for a corpus without documents.
    """
    similarity = similarity_of(similarity, model.path)
    paths, records = [each.path for each in chunk_vectors], [each.record for each in chunk_vectors]
    files = VectorFiles(paths, [record["rows"] for record in records])
    if not len(files):
        raise DataError(f"{documents.path}: the corpus has no document, so there are no ranges")
    ranges = _ranges(files, Compression("int8", dimensions, similarity == "cosine"))
    made = together(record["made"] for record in records)
    return Made(ranges, made=made, system=system, dimensions=dimensions, similarity=similarity)


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


def dimensions_of(dimensions: str) -> int | None:
    """Return the number of dimensions that a path names; None for all."""
    return None if dimensions == ALL_DIMENSIONS else int(dimensions)
