"""Postings of a chunk on disk: its terms, the documents of each term, and the lengths of the documents.

A file has columns, of which a reader may take those of terms and documents alone. Rows of documents are stored as differences,
which compress to little more than a byte.
"""

import platform
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from beirflow.core.artifact import Artifact, Stream
from beirflow.core.layout import POSTINGS
from beirflow.core.verified import damaged, reading
from beirflow.families.lexical.bm25 import length_codes
from beirflow.families.postings.columns import ColumnWriter, read_columns
from beirflow.families.postings.names import analyses

FORMAT = b"beirflow postings 2"

TERM_COLUMNS = ("terms", "frequencies", "title_frequencies", "text_frequencies")
POSTING_COLUMNS = ("rows", "title_counts", "text_counts")
DOCUMENT_COLUMNS = ("title_lengths", "text_lengths", "title_filled", "text_filled")


@dataclass(frozen=True)
class Postings:
    """A chunk of n documents with t different terms, and p postings: the pairs of a term and a document that has it.

    Terms are in byte order; postings by term and then by row. Title and text are apart, so that they can be one field or two.
    """

    terms: pa.LargeStringArray  # of shape (t,)
    frequencies: np.ndarray  # documents that have the term, its postings, int32 of shape (t,)
    title_frequencies: np.ndarray  # documents with a text that have the term in their title, int32 of shape (t,)
    text_frequencies: np.ndarray  # documents that have the term in their text, int32 of shape (t,)
    rows: np.ndarray  # document of each posting, by its row in the chunk, int32 of shape (p,)
    title_counts: np.ndarray  # how often its title has the term, uint8, uint16 or uint32 of shape (p,)
    text_counts: np.ndarray  # how often its text has the term, uint8, uint16 or uint32 of shape (p,)
    title_lengths: np.ndarray  # terms of each title, int32 of shape (n,)
    text_lengths: np.ndarray  # terms of each text, int32 of shape (n,)
    title_filled: np.ndarray  # the title has more than white space, bool of shape (n,)
    text_filled: np.ndarray  # the text has more than white space, bool of shape (n,)

    @cached_property
    def starts(self) -> np.ndarray:
        """First posting of each term, and the number of postings, int64 of shape (t + 1,)."""
        return np.concatenate([[0], np.cumsum(self.frequencies, dtype=np.int64)])

    @cached_property
    def length_codes(self) -> dict[str, np.ndarray]:
        """Lucene's code of the length of each document, uint8 of shape (n,), by field."""
        lengths = {"contents": self.title_lengths + self.text_lengths, "title": self.title_lengths, "text": self.text_lengths}
        return {name: length_codes(of_field) for name, of_field in lengths.items()}


class ChunkPostings(Artifact):
    """The postings of a chunk on disk."""

    pattern = POSTINGS
    large = represents = True

    def read(self, analyzer: str, *, postings: bool = True) -> Postings:
        """Read terms and documents, and their postings unless these are not needed and left empty.

        Raises DataError if the file was damaged, or comes from another analyzer.
        """
        names = [*TERM_COLUMNS, *DOCUMENT_COLUMNS, *(POSTING_COLUMNS if postings else [])]
        with reading(self.path, "the postings"):
            (columns,) = read_columns(self.path, _metadata(analyzer), names)
        values = dict.fromkeys(POSTING_COLUMNS, np.empty(0, np.int32))
        values |= {name: each if name == "terms" else each.to_numpy(zero_copy_only=False) for name, each in columns.items()}
        values["rows"] = np.cumsum(values["rows"], dtype=np.int32)
        whole = Postings(**values)
        if problem := _problem(whole, postings):
            raise damaged(self.path, problem)
        return whole

    @staticmethod
    def write(stream: Stream, data: tuple[Postings, str]) -> None:
        """Write postings and the name of the analyzer that their terms come from."""
        postings, analyzer = data
        with ColumnWriter(stream, _metadata(analyzer)) as writer:
            columns = {name: getattr(postings, name) for name in (*TERM_COLUMNS, *POSTING_COLUMNS, *DOCUMENT_COLUMNS)}
            writer.write(columns | {"rows": np.diff(postings.rows, prepend=np.int32(0))})


def _metadata(analyzer: str) -> dict[str, bytes | str]:
    return {"format": FORMAT, "analyzer": analyzer}


def _problem(whole: Postings, with_postings: bool) -> str | None:
    """Return the contradiction in what was read; None without one."""
    for group in (TERM_COLUMNS, POSTING_COLUMNS, DOCUMENT_COLUMNS):
        lengths = {name: len(getattr(whole, name)) for name in group}
        if len(set(lengths.values())) > 1:
            return f"found columns of different lengths, {lengths}"
    if (whole.frequencies < 1).any():
        return "found terms without documents"
    if with_postings and len(whole.rows) != whole.starts[-1]:
        return f"found {len(whole.rows)} postings, but frequencies of {whole.starts[-1]}"
    documents = len(whole.text_lengths)
    if len(whole.rows) and not 0 <= whole.rows.min() <= whole.rows.max() < documents:
        return f"found postings of the rows {whole.rows.min()} to {whole.rows.max()} among {documents} documents"
    return None


def made_with(analyzer: str) -> dict[str, str]:
    """Return the analyzer, the processor and the versions of the packages that make postings, for records."""
    versions = {"python": platform.python_version(), "numpy": np.__version__, "pyarrow": pa.__version__}
    own = analyses()[analyzer].made
    return {"analyzer": analyzer, "device": platform.processor() or platform.machine(), **versions, **own}
