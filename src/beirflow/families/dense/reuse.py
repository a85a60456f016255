"""Reuse another dataset's vectors for identical texts, if encoding them here would give the same vectors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.layout import CORPUS, DOCUMENTS, record_of
from beirflow.core.progress import Progress
from beirflow.core.records import Job, check_inputs, read_json
from beirflow.core.verified import reading
from beirflow.data.corpus_files import recorded_digest, sources_of
from beirflow.families.dense.vectors import read_vectors


@dataclass(frozen=True)
class SharedVectors:
    """The vectors of another dataset that one chunk reuses."""

    # for each document, the chunk of the other dataset that has its text, int32 of shape (documents,); -1 for none
    chunk: np.ndarray
    row: np.ndarray  # the row in that chunk, likewise
    paths: Mapping[int, str]  # by needed chunk of the other dataset, the file of vectors
    # by chunk of the other dataset, the records of these files; of chunk 0 where none is needed
    records: Mapping[int, Mapping[str, Any]]
    shared: tuple[str, str]  # ``shared.parquet``, the source of all this, and its digest

    @property
    def missing(self) -> np.ndarray:
        """Documents whose text the other dataset lacks, bool of shape (documents,)."""
        return self.chunk < 0

    def check_precision(self, precision: str, where: str = "here it is") -> None:
        """Check that the vectors have the precision of those that they join; ``where`` names these in the DataError."""
        for number, path in self.paths.items():
            todo = f"name a precision in the configuration, or {_encode_again(path)}"
            _check(path, "encoded in", self.records[number]["made"]["precision"], precision, where, todo)

    def gather(self) -> np.ndarray:
        """Read the vectors, float32 of shape (documents, dim), each file in sequence, after comparing it with its record.

        The rows of missing texts are undefined. Raises DataError for a changed file.
        """
        vectors = np.empty((len(self.chunk), self._first["dim"]), dtype=np.float32)
        with Progress("reuse vectors", int((~self.missing).sum()), "documents") as progress:
            for number, path in self.paths.items():
                rows = np.flatnonzero(self.chunk == number)
                # In the order of the file, which is then read in sequence.
                rows = rows[np.argsort(self.row[rows], kind="stable")]
                vectors[rows] = read_vectors(path, self.records[number]["rows"])[self.row[rows]]
                progress.advance(len(rows))
        return vectors

    def nothing_encoded(self) -> dict[str, Any]:
        """Return the record of the encoding of a chunk whose vectors are all reused."""
        return {
            "distinct_texts": 0,
            "dim": self._first["dim"],
            "made": self._first["made"],
            "encoder": self._first["encoder"],
            "counts": {"tokens": 0, "truncated_documents": 0},
        }

    def made(self) -> list[Mapping[str, Any]]:
        """Return the facts of the making of the reused vectors."""
        return [self.records[number]["made"] for number in self.paths]

    def inputs(self) -> dict[str, str]:
        """Return digests of the files that the vectors come from, by path below the results."""
        path, digest = self.shared
        vectors = [self.records[number]["outputs"] for number in self.paths]
        return {path: digest} | {path: digest for outputs in vectors for path, digest in outputs.items()}

    @property
    def _first(self) -> Mapping[str, Any]:
        return next(iter(self.records.values()))


def find_vectors(
    shared_paths: Sequence[str], chunk: int, *, system: str, documents_path: str, model_path: str, job: Job
) -> SharedVectors:
    """Find the vectors of another dataset that a chunk can reuse, without reading them.

    ``shared_paths`` are the output of ``match_texts``, then the vectors of chunk 0, 1, … of the other dataset, each with its
    record. Raises DataError for a damaged record, texts that were matched in other corpora, or vectors of another system or
    model, or of several precisions.
    """
    shared_path, *vector_paths = shared_paths
    rematch = f"match the texts again after: rm {shared_path}"
    with reading(shared_path), pq.ParquetFile(shared_path, page_checksum_verification=True) as file:
        matched = {name: file.schema_arrow.metadata[name.encode()].decode() for name in ("documents", "other")}
        corpus = f"{Path(documents_path).with_name(Path(CORPUS).name)} says"
        _check(shared_path, "made from the corpus", matched["documents"], recorded_digest(documents_path), corpus, rematch)
        places = file.read_row_group(chunk)
    chunks, rows = (places[name].to_numpy() for name in ("chunk", "row"))
    needed = np.unique(chunks[chunks >= 0]).tolist()
    if needed and needed[-1] >= len(vector_paths):
        raise DataError(f"{shared_path}: names chunk {needed[-1]} of the other dataset, which has {len(vector_paths)}; {rematch}")
    model = sources_of(job, documents_path, model_path)[job.below(model_path)]
    records: dict[int, dict[str, Any]] = {}
    # Where nothing is reused, the record of chunk 0 tells dimensions and precision.
    for number in needed or [0]:
        path = vector_paths[number]
        records[number] = record = read_json(record_of(path))
        corpus_digest = next(
            (digest for name, digest in record["inputs"].items() if Path(name).name == Path(DOCUMENTS).name), None
        )
        stale = f"{rematch}; or, if that changes nothing, {_encode_again(path)}"
        _check(path, "made from the corpus", corpus_digest, matched["other"], f"{shared_path} is about", stale)
        check_inputs(record_of(path), record, {job.below(model_path): model}, system=system)
    shared = job.below(shared_path), file_digest(shared_path)
    vectors = SharedVectors(chunks, rows, {number: vector_paths[number] for number in needed}, records, shared)
    first = next(iter(records))
    vectors.check_precision(records[first]["made"]["precision"], f"{vector_paths[first]} in")
    return vectors


def _check(path: str, what: str, found: str | None, expected: str, where: str, todo: str) -> None:
    if found != expected:
        raise DataError(f"{path}: {what} {found}, but {where} {expected}; {todo}")


def _encode_again(path: str) -> str:
    return f"encode again after: rm {Path(path).parent}/*"


def shared_files(shared_texts_paths: Sequence[str], shared_vectors_paths: Sequence[str]) -> list[str]:
    """Join the files that a rule has for :func:`find_vectors`: the shared texts, then the vectors of the other dataset."""
    return [*shared_texts_paths, *shared_vectors_paths]
