"""The files of a prepared corpus, read only if they match the digests in ``corpus.json``."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.core.artifact import Artifact
from beirflow.core.digests import file_digest
from beirflow.core.layout import CORPUS, DOCUMENTS, QRELS, QUERIES
from beirflow.core.verified import damaged, reading
from beirflow.data.document_text import as_read, split_title_and_text

FOOTER = "documents_footer_sha256"  # key of ``corpus.json``

OWN_CANDIDATES = "own_candidates"
"""Key of ``corpus.json``: true where a query ranks only the documents that are judged for it; else it is not there.

Where it ranks others, ``queries.parquet`` has them."""

EXCLUDED_PAIRS = "excluded_pairs"
"""Count of ``corpus.json``: documents that the judged queries exclude from their rankings; not there where they exclude none."""

RELEVANT_PAIRS = "relevant_pairs"
"""Count that a catalogue expects: judgements above 0."""

EXCLUDED_ROWS = "excluded_rows"
"""Column of ``queries.parquet``: of each query, the rows in ``documents.parquet`` of the documents that it excludes, ascending.

Every search of a chunk reads these, since to look ids up takes many times as long. The column ``excluded_ids`` has the ids."""

CORPUS_COUNTS = ("documents", "queries", "judgements", "judgements_without_document", "characters")
"""Counts of ``corpus.json`` that metrics repeat."""

CANDIDATE_PAIRS = "candidate_pairs"
"""Count of ``corpus.json``: documents that the judged queries rank, where they rank no others."""

RELEVANT_FROM = "relevant_from"
"""Key of ``corpus.json`` and of the metadata of ``qrels.parquet``: the grade from which a document is relevant, unless 1."""

PIECE_BYTES = 1 << 20

PARQUET_END_BYTES = 8  # a Parquet file ends with the length of its footer, in four bytes, and a magic number


@dataclass(frozen=True)
class PreparedCorpus:
    """The files of a prepared corpus, in one folder."""

    documents_path: str  # ``documents.parquet``; row group i is chunk i
    queries_path: str  # ``queries.parquet``

    @property
    def qrels_path(self) -> str:
        """``qrels.parquet``."""
        return str(Path(self.queries_path).with_name(Path(QRELS).name))

    @property
    def corpus_path(self) -> str:
        """``corpus.json``, the record of the others."""
        return str(corpus_record(self.queries_path))


def corpus_record(path: str | Path) -> Path:
    """Return the path of ``corpus.json``, the record of the files of a corpus, in the folder of one of them."""
    return Path(path).with_name(Path(CORPUS).name)


def recorded_digest(path: str | Path) -> str:
    """Return the sha256 of a file of a corpus, from ``corpus.json``."""
    return CorpusFile(path).digest


def read_table(path: str | Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read ``queries.parquet`` or ``qrels.parquet``, or those of some columns that it has.

    Raises DataError if it was changed after it was written.
    """
    file = CorpusFile(path)
    file.check()
    return file.read(columns)


def relevant_from(qrels: pa.Table) -> int:
    """Return the grade from which a document is relevant, for measures without grades."""
    return int((qrels.schema.metadata or {}).get(RELEVANT_FROM.encode(), 1))


class CorpusFile(Artifact):
    """A file of a corpus, whose record is that of all of them.

    What is made from documents and queries does not depend on judgements, so it names the file and not the record.
    """

    @property
    def named(self) -> dict[str, str]:
        """Digest by which the record of what is made from this file names it."""
        return {self.name: self.digest}

    @property
    def here(self) -> dict[str, str]:
        """Digests of all files of the corpus."""
        return {**self.record["outputs"], **self.named}

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Read the table, or those of some columns that it has."""
        return pq.ParquetFile(self.path).read(None if columns is None else list(columns))  # read_table imports Arrow's datasets

    @staticmethod
    def find_record(path: Path) -> Path:
        """Return the path of ``corpus.json``."""
        return corpus_record(path)


class Queries(CorpusFile):
    """``queries.parquet``."""

    pattern = QUERIES


class Qrels(CorpusFile):
    """``qrels.parquet``; what is made from it names ``corpus.json`` too, which has counts of it."""

    pattern = QRELS

    @property
    def named(self) -> dict[str, str]:
        """Digests by which the record of what is made from judgements names them."""
        return {**super().named, self.record["path"]: file_digest(self.record_path)}


class Corpus(Artifact):
    """``corpus.json`` in place of queries and documents that a step does not read; what is made from it names these two."""

    pattern = CORPUS

    @property
    def named(self) -> dict[str, str]:
        """Digests of queries and documents."""
        files: dict[str, str] = self.record["outputs"]
        return {name: digest for name, digest in files.items() if QRELS.names_in(name) is None}


class Documents(CorpusFile):
    """``documents.parquet``, of which a job reads and checks no more than it needs.

    The digest of the whole would make every job read the whole corpus. So the footer, which says where each page is and how
    large, is compared with ``corpus.json``, and every page that is read with its own checksum; a difference is a DataError. Read
    ``piecewise``, it takes less memory than a chunk at once. ``sizes`` are the documents of each chunk.
    """

    pattern = DOCUMENTS

    def __init__(self, path: str | Path, *, piecewise: bool = False) -> None:
        super().__init__(path)
        digest, expected = footer_digest(path), self.record[FOOTER]
        if digest != expected:
            raise damaged(path, f"the sha256 of its footer is {digest}, but {self.record_path} says {expected}")
        how = {"buffer_size": PIECE_BYTES, "pre_buffer": False} if piecewise else {}
        self._file = pq.ParquetFile(path, page_checksum_verification=True, **how)
        groups = self._file.metadata
        self.sizes: list[int] = [groups.row_group(chunk).num_rows for chunk in range(groups.num_row_groups)]

    def check(self) -> None:
        """Do nothing: what is read is checked."""

    def __enter__(self) -> "Documents":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, chunks: Sequence[int], columns: list[str] | None = None) -> pa.Table:  # type: ignore[override]
        """Read some chunks, one after another, and no byte of another; DataError if they were changed after they were written."""
        with reading(self.path):
            return self._file.read_row_groups(list(chunks), columns)

    def texts(self, chunk: int, separator: str | None = None) -> pa.Table:
        """Read ``doc_id`` and ``text`` of a chunk as models do, with a separator of title and text; None for the stored space."""
        columns = ["doc_id", "text", *(["title_bytes"] if separator is not None else [])]
        return as_read(self.read([chunk], columns), separator)

    def titles_and_texts(self, chunk: int, rows: int) -> Iterator[tuple[pa.Array, pa.Array]]:
        """Read the titles and texts of a chunk, at most ``rows`` at a time, for what keeps them apart.

        They are as :func:`~beirflow.data.document_text.split_title_and_text` gives them.
        """
        for batch in self.batches(chunk, ["text", "title_bytes"], rows):
            yield split_title_and_text(batch["text"], batch["title_bytes"].to_numpy())

    def batches(self, chunk: int, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Read a chunk at most ``rows`` rows at a time; DataError if it was changed after it was written."""
        with reading(self.path):
            yield from self._file.iter_batches(rows, row_groups=[chunk], columns=columns)


def footer_digest(path: str | Path) -> str:
    """Return the sha256 of the footer of a Parquet file, as lowercase hexadecimal."""
    with Path(path).open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        stream.seek(max(0, size - PARQUET_END_BYTES))
        length = int.from_bytes(stream.read(4), "little")
        # A damaged length may reach before the file; then the digest is that of the whole.
        stream.seek(max(0, size - PARQUET_END_BYTES - length))
        return hashlib.file_digest(stream, "sha256").hexdigest()
