"""Reuse another dataset's vectors for identical texts, if encoding them here would give the same vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.core.artifact import Artifact
from beirflow.core.errors import DataError
from beirflow.core.layout import DOCUMENTS, SHARED
from beirflow.core.progress import Progress
from beirflow.core.records import together
from beirflow.core.verified import reading
from beirflow.families.dense.vectors import Vectors, read_vectors


class SharedTexts(Artifact):
    """The places of texts in another dataset, as ``match_texts`` wrote them; the file names both corpora, and has no record."""

    pattern = SHARED

    @staticmethod
    def find_record(path: Path) -> Path:
        """Return the path of the file itself."""
        return path

    @staticmethod
    def read_record(path: Path) -> dict[str, Any]:
        """Return the digest of the corpus whose texts these are, by its path, and that of the other corpus."""
        with reading(path), pq.ParquetFile(path) as file:
            digests = {name: file.schema_arrow.metadata[name.encode()].decode() for name in ("documents", "other")}
        dataset = path.parent.name
        inputs = {DOCUMENTS(dataset=dataset): digests["documents"]}
        return {"path": SHARED(dataset=dataset), "inputs": inputs, "other": digests["other"]}

    def read(self, chunk: int) -> pa.Table:
        """Read ``chunk`` and ``row`` of the texts of a chunk; DataError if they were damaged."""
        with reading(self.path), pq.ParquetFile(self.path, page_checksum_verification=True) as file:
            return file.read_row_group(chunk)


class SharedVectors(Vectors):
    """Vectors of another dataset, of which only a file that is read is compared with its record, and named."""

    large = False
    is_read = False

    @property
    def named(self) -> dict[str, str]:
        """Digest of the file, if it is reused."""
        return {self.name: self.digest} if self.is_read else {}

    def check(self) -> None:
        """Do nothing: what is read is checked."""

    def read(self) -> np.ndarray:
        """Map all vectors, float32 of shape (rows, dim); DataError if they were changed after they were written."""
        super().check()
        self.is_read = True
        return read_vectors(self.path, self.record["rows"])


@dataclass(frozen=True)
class Reused:
    """The vectors of another dataset that one chunk reuses."""

    # for each document, the chunk of the other dataset that has its text, int32 of shape (documents,); -1 for none
    chunk: np.ndarray
    row: np.ndarray  # the row in that chunk, likewise
    vectors: Mapping[int, SharedVectors]  # those of the needed chunks of the other dataset
    any: SharedVectors  # one of them, or those of chunk 0 if none are needed: they have the same dimensions

    @property
    def missing(self) -> np.ndarray:
        """Documents whose text the other dataset lacks, bool of shape (documents,)."""
        return self.chunk < 0

    def check_precision(self, precision: str, where: str = "here it is") -> None:
        """Check that the vectors have the precision of those that they join; ``where`` names these in the DataError."""
        for each in self.vectors.values():
            todo = f"name a precision in the configuration, or {_encode_again(each)}"
            _check(each, "encoded in", each.record["made"]["precision"], precision, where, todo)

    def gather(self) -> np.ndarray:
        """Read the vectors, float32 of shape (documents, dim), each file in sequence, after comparing it with its record.

        The rows of missing texts are undefined. Raises DataError for a changed file.
        """
        vectors = np.empty((len(self.chunk), self.any.record["dim"]), dtype=np.float32)
        with Progress("reuse vectors", int((~self.missing).sum()), "documents") as progress:
            for number, each in self.vectors.items():
                rows = np.flatnonzero(self.chunk == number)
                # In the order of the file, which is then read in sequence.
                rows = rows[np.argsort(self.row[rows], kind="stable")]
                vectors[rows] = each.read()[self.row[rows]]
                progress.advance(len(rows))
        return vectors

    def fields(self, encoded: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Return the fields of the record of all vectors, from those of the missing ones and the seconds to read the others."""
        of_none = {"counts": {"tokens": 0, "truncated_documents": 0}, "seconds": {"load": 0.0, "index": 0.0}}
        fields = {key: self.any.record[key] for key in ("dim", "made", "encoder")} | of_none | encoded
        fields.pop("computation", None)  # that of a part
        return fields | {
            "rows": len(self.chunk),
            "made": together([fields["made"], *(each.record["made"] for each in self.vectors.values())]),
            "counts": {**fields["counts"], "documents_reused": int((~self.missing).sum())},
            "seconds": {**fields["seconds"], "index": fields["seconds"]["index"] + seconds},
        }


def find_vectors(shared: SharedTexts, others: Sequence[SharedVectors], chunk: int) -> Reused:
    """Find the vectors of another dataset that a chunk can reuse, without reading them.

    ``others`` are the vectors of its chunk 0, 1, …. Raises DataError for damaged places, texts that were matched in another
    corpus, or vectors of several precisions.
    """
    places, rematch = shared.read(chunk), f"match the texts again after: rm {shared.path}"
    chunks, rows = (places[name].to_numpy() for name in ("chunk", "row"))
    needed = np.unique(chunks[chunks >= 0]).tolist()
    if needed and needed[-1] >= len(others):
        raise DataError(f"{shared.path}: names chunk {needed[-1]} of the other dataset, which has {len(others)}; {rematch}")
    # Where nothing is reused, the record of chunk 0 tells dimensions and precision.
    vectors = {number: others[number] for number in needed or [0]}
    for each in vectors.values():
        corpus = each.record["inputs"].get(DOCUMENTS(dataset=each.names["dataset"]))
        stale = f"{rematch}; or, if that changes nothing, {_encode_again(each)}"
        _check(each, "made from the corpus", corpus, shared.record["other"], f"{shared.path} is about", stale)
    first = next(iter(vectors.values()))
    reused = Reused(chunks, rows, {number: others[number] for number in needed}, first)
    reused.check_precision(first.record["made"]["precision"], f"{first.path} in")
    return reused


def _check(vectors: SharedVectors, what: str, found: str | None, expected: str, where: str, todo: str) -> None:
    if found != expected:
        raise DataError(f"{vectors.path}: {what} {found}, but {where} {expected}; {todo}")


def _encode_again(vectors: SharedVectors) -> str:
    return f"encode again after: rm {vectors.path.parent}/*"
