"""Represent texts: compute something for the queries of a dataset or the documents of a chunk, write it, and record how.

A family loads what computes and writes what it computes; this module does what all families do before and after.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa

from beirflow.core.layout import record_of
from beirflow.core.records import Job, write_record
from beirflow.core.writing import DigestingWriter, atomic_path
from beirflow.data.corpus_files import Documents, read_table
from beirflow.data.document_text import as_read

M = TypeVar("M")


@dataclass(frozen=True)
class Texts:
    """The texts of some queries or documents."""

    kind: Literal["queries", "documents"]
    source_path: str  # queries.parquet or documents.parquet, next to its corpus.json
    table: pa.Table  # query_id or doc_id, and text

    @property
    def stage(self) -> str:
        """Name of their stage in records."""
        return "queries" if self.kind == "queries" else "index"

    def distinct(self) -> tuple[list[str], np.ndarray]:
        """Return each distinct text once, and the number of each row's text, integers of shape (rows,)."""
        encoded = self.table["text"].combine_chunks().dictionary_encode()
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()

    def filter(self, rows: np.ndarray) -> "Texts":
        """Return the texts of the rows that are true in an array of bool."""
        return replace(self, table=self.table.filter(pa.array(rows)))

    def name_of(self, number: int, indices: np.ndarray | None = None) -> str:
        """Return column and id of the first row with a distinct text, for messages; ``indices`` are those of :meth:`distinct`."""
        row = int(np.argmax((self.distinct()[1] if indices is None else indices) == number))
        return f"{self.table.column_names[0]} {self.table[0][row].as_py()!r}"


def query_texts(queries_path: str) -> Texts:
    """Read the queries of a dataset. Raises DataError if the file was changed after it was written."""
    return Texts("queries", queries_path, read_table(queries_path))


def document_texts(documents_path: str, chunk: int, separator: str | None = None) -> Texts:
    """Read the documents of one chunk as models read them, with a separator of title and text; None for the stored space.

    A chunk is a row group; no other is read. Raises DataError if what is read was changed after it was written.
    """
    columns = ["doc_id", "text", *(["title_bytes"] if separator is not None else [])]
    with Documents(documents_path) as documents:
        return Texts("documents", documents_path, as_read(documents.read([chunk], columns), separator))


def represent(
    texts: Texts,
    output_path: str,
    job: Job,
    *,
    system: str,
    inputs: Mapping[str, str],
    gpu: AbstractContextManager[None],
    load: Callable[[], M],
    compute: Callable[[M, DigestingWriter], Mapping[str, Any]],
) -> None:
    """Write a representation of texts, whole or not at all, and its record.

    ``inputs`` are the sha256 of the files that are read, by path below the results. ``load`` returns the model; None if nothing
    has to be computed. ``compute`` writes the representation, and returns ``made``, ``counts`` and other facts for the record.
    """
    # The digest is that of the bytes as they are written: to read them again would take as long, and could read others.
    with gpu, atomic_path(output_path) as unfinished, DigestingWriter(unfinished) as stream:
        start = time.perf_counter()
        model = load()
        loaded = time.perf_counter()
        facts = compute(model, stream)
        digest = stream.digest()
        computed = time.perf_counter()
    write_record(
        record_of(output_path),
        job,
        inputs={job.results / path: digest for path, digest in inputs.items()},
        outputs={output_path: digest},
        seconds={"load": 0.0 if model is None else loaded - start, texts.stage: computed - loaded},
        sizes={texts.stage: Path(output_path).stat().st_size},
        system=system,
        rows=texts.table.num_rows,
        **facts,
    )
