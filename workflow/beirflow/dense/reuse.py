"""Take over the vectors that another dataset has of the same texts, where they are what encoding here would give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from beirflow.dense.vectors import origin_of, read_vectors
from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.progress import Progress
from beirflow.files.records import read_json
from beirflow.files.verified import check_origin, parquet_errors


@dataclass(frozen=True)
class SharedVectors:
    """The vectors of another dataset that one chunk takes over.

    Attributes:
        chunk: For each document of the chunk, the chunk of the other dataset that has its text, int32 of shape (documents,); -1
            for none.
        row: The row in there, likewise.
        paths: By chunk of the other dataset, the file of vectors; only those that are needed.
        records: By chunk of the other dataset, what was recorded beside them; of chunk 0 where none is needed.
        sha256: Digest of ``shared.parquet``, which says all this.
    """

    chunk: np.ndarray
    row: np.ndarray
    paths: Mapping[int, str]
    records: Mapping[int, Mapping[str, Any]]
    sha256: str

    @property
    def missing(self) -> np.ndarray:
        """Whether the other dataset lacks the text of a document, bool of shape (documents,)."""
        return self.chunk < 0

    def check_precision(self, precision: str, where: str = "here it is") -> None:
        """Make sure that the vectors have the precision of those that they are put beside.

        Args:
            precision: ``float32``, ``bfloat16`` or ``float16``.
            where: Where that is, for the message.

        Raises:
            DataError: They have another.
        """
        for number, path in self.paths.items():
            todo = f"name a precision in the configuration, or {_encode_again(path)}"
            _check(path, "encoded in", self.records[number]["precision"], precision, where, todo)

    def gather(self) -> np.ndarray:
        """Read the vectors, each file in sequence, after comparing it with its record.

        Returns:
            float32 of shape (documents, dim); the rows that are missing hold nothing that means anything.

        Raises:
            DataError: A file was changed after it was written.
        """
        vectors = np.empty((len(self.chunk), self._first["dim"]), dtype=np.float32)
        with Progress("take over vectors", int((~self.missing).sum()), "documents") as progress:
            for number, path in self.paths.items():
                rows = np.flatnonzero(self.chunk == number)
                rows = rows[np.argsort(self.row[rows], kind="stable")]
                vectors[rows] = read_vectors(path, self.records[number]["rows"])[self.row[rows]]
                progress.advance(len(rows))
        return vectors

    def nothing_encoded(self) -> dict[str, Any]:
        """What is recorded of the encoding of a chunk when all of its vectors are taken over."""
        made = {key: self._first[key] for key in ("dim", "precision", "device", "torch", "transformers")}
        return {**made, "distinct_texts": 0, "tokens": 0, "truncated_texts": 0, "seconds": {"load": 0.0, "encode": 0.0}}

    def taken_over(self) -> dict[str, Any]:
        """How many vectors are taken over, and what they were made with."""
        used = [self.records[number] for number in self.paths]
        made = {key: sorted({record[key] for record in used}) for key in ("device", "torch", "transformers")}
        return {"documents": int((~self.missing).sum()), **made}

    def from_sha256(self) -> dict[str, str]:
        """Digests of the files that the vectors come from, by their names."""
        vectors = {"/".join(Path(path).parts[-2:]): self.records[number]["sha256"] for number, path in self.paths.items()}
        return {"shared.parquet": self.sha256, **vectors}

    @property
    def _first(self) -> Mapping[str, Any]:
        return next(iter(self.records.values()))


def find_vectors(shared_paths: Sequence[str], chunk: int, *, system: str, corpus_path: str, model_path: str) -> SharedVectors:
    """Find out which vectors of another dataset a chunk can take over.

    Args:
        shared_paths: What ``match_texts`` wrote, and then the vectors of chunk 0, 1, … of the other dataset, each with its record
            beside it.
        chunk: Number of the chunk.
        system: Name of the system.
        corpus_path: ``corpus.json`` of the chunk's dataset.
        model_path: What ``fetch_model`` wrote about the model.

    Returns:
        What to take over; no vector has been read.

    Raises:
        DataError: A record was damaged, the texts were matched in other corpora than these, or the vectors come from another
            system or model, or from several precisions.
    """
    shared_path, *vector_paths = shared_paths
    rematch = f"match the texts again after: rm {shared_path}"
    with parquet_errors(shared_path), pq.ParquetFile(shared_path, page_checksum_verification=True) as file:
        matched = {name: file.schema_arrow.metadata[name.encode()].decode() for name in ("documents", "other")}
        documents = read_json(corpus_path)["sha256"]["documents.parquet"]
        _check(shared_path, "made from the corpus", matched["documents"], documents, f"{corpus_path} says", rematch)
        places = file.read_row_group(chunk)
    chunks, rows = (places[name].to_numpy() for name in ("chunk", "row"))
    needed = np.unique(chunks[chunks >= 0]).tolist()
    if needed and needed[-1] >= len(vector_paths):
        raise DataError(f"{shared_path}: names chunk {needed[-1]} of the other dataset, which has {len(vector_paths)}; {rematch}")
    origin = origin_of(system, Path(corpus_path).with_name("documents.parquet"), model_path)
    records: dict[int, dict[str, Any]] = {}
    for number in needed or [0]:
        path = vector_paths[number]
        record_path = Path(path).with_suffix(".json")
        records[number] = record = read_json(record_path)
        found = record["from_sha256"]["documents.parquet"]
        stale = f"{rematch}; or, if that changes nothing, {_encode_again(path)}"
        _check(path, "made from the corpus", found, matched["other"], f"{shared_path} is about", stale)
        check_origin(record_path, record, {name: origin[name] for name in ("system", "model")})
    shared = SharedVectors(chunks, rows, {number: vector_paths[number] for number in needed}, records, file_digest(shared_path))
    first = next(iter(records))
    shared.check_precision(records[first]["precision"], f"{vector_paths[first]} in")
    return shared


def _check(path: str, what: str, found: str, expected: str, where: str, todo: str) -> None:
    if found != expected:
        raise DataError(f"{path}: {what} {found}, but {where} {expected}; {todo}")


def _encode_again(path: str) -> str:
    return f"encode again after: rm {Path(path).parent}/*"
