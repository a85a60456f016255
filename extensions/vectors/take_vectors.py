"""Take the vectors of queries or of a chunk, in the order of the corpus, as the dense family reads them."""

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from beirflow.core.artifact import Made, step
from beirflow.core.errors import DataError
from beirflow.core.progress import Progress
from beirflow.data.corpus_files import Documents, Queries
from beirflow.data.document_text import Kind
from beirflow.data.sources.json_lines import short
from beirflow.extensions.vectors.given import GivenVectors, Place, check_unchanged, open_vectors, rows_of
from beirflow.families.dense.vectors import Vectors
from beirflow.models.model_record import ModelRecord

logger = logging.getLogger(__name__)

WINDOW_BYTES = 1 << 26  # bytes of the vectors that are taken at once
STAGES = {"queries": "queries", "documents": "index"}  # names of sizes in records
HEADER_BYTES = 128  # of a file of vectors
UNKNOWN = {"precision": "unknown"}  # in which the vectors were computed


@step(Vectors, stage="")
def take_query_vectors(queries: Queries, model: ModelRecord, vectors_in_path: str, ids_in_path: str) -> Made:
    """Take the vectors of the queries of a dataset, float32 of shape (queries, dim), in the order of the table.

    Raises DataError for a file that is not the recorded one, and for a value that is not finite in float32.
    """
    return _take(Place(vectors_in_path, ids_in_path), model, queries.read(["query_id"])["query_id"].combine_chunks(), "queries")


@step(Vectors, stage="")
def take_chunk_vectors(documents: Documents, model: ModelRecord, vectors_in_path: str, ids_in_path: str, chunk: int) -> Made:
    """Take the vectors of a chunk of documents, like :func:`take_query_vectors`."""
    return _take(
        Place(vectors_in_path, ids_in_path), model, documents.read([chunk], ["doc_id"])["doc_id"].combine_chunks(), "documents"
    )


def _take(place: Place, model: ModelRecord, ids: pa.Array, kind: Kind) -> Made:
    """Take the vectors of some texts while they are written."""
    given = open_vectors(place)
    rows, dim = rows_of(place, given, ids, kind), given.vectors.shape[1]

    def vectors() -> Iterator[np.ndarray]:
        """Yield the vectors; then compare the files with their digests, and tell how many vectors are zero."""
        zeros = 0
        for window in _windows(place, given, rows):
            zeros += len(window) - int(window.any(axis=1).sum())
            yield window
        for path in place:
            check_unchanged(path, model.record["files"][Path(path).name], model.path)
        if zeros:
            logger.warning("%s: %d of %d vectors are zero; was the file written to its end?", place.vectors, zeros, len(rows))
            made.fields["counts"] = {f"zero_vectors_of_{kind}": zeros}

    facts = {"system": model.record["system"], "rows": len(rows), "dim": dim, "made": UNKNOWN}
    made = Made((len(rows), vectors()), sizes={STAGES[kind]: HEADER_BYTES + 4 * len(rows) * dim}, **facts)
    return made


def _windows(place: Place, given: GivenVectors, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield vectors, some at a time; DataError for one that is not finite."""
    dim = given.vectors.shape[1]
    step = max(1, WINDOW_BYTES // (4 * dim))
    with Progress("take vectors", len(rows), "vectors") as progress:
        for start in range(0, max(1, len(rows)), step):
            of_window = rows[start : start + step]
            with np.errstate(over="ignore"):  # of float64: infinity, which is refused
                vectors = given.vectors[of_window].astype(np.float32)
            wrong = ~np.isfinite(vectors).all(axis=1)
            if wrong.any():
                row = int(of_window[int(np.argmax(wrong))])
                problem = f"row {row}, of the text {short(given.ids[row].as_py())}, holds infinity or not-a-number in float32"
                raise DataError(f"{place.vectors}: {problem}; compute this vector again")
            yield vectors
            progress.advance(len(vectors))
