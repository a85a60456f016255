"""Postings on disk: the terms of a chunk, and the documents of each term.

The file has batches of columns: the first holds terms and documents, each of the others a part, the postings of some consecutive
terms. So a search reads one part after the other, in several threads, and memory holds few of them. Rows of documents are stored
as differences, which compress to little more than a byte.
"""

import platform
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from beirflow.core.artifact import Artifact, Stream
from beirflow.core.layout import POSTINGS
from beirflow.core.verified import damaged, reading
from beirflow.families.postings.columns import ColumnWriter, read_columns
from beirflow.families.postings.names import analyses

FORMAT = b"beirflow postings 2"

PART_POSTINGS = 1 << 20
"""Postings of a part, which ends before the first term that begins so many, or a multiple of them, behind the file's start."""

TERM_COLUMNS = ("terms", "frequencies", "title_frequencies", "text_frequencies")
POSTING_COLUMNS = ("rows", "title_counts", "text_counts")
DOCUMENT_COLUMNS = ("title_lengths", "text_lengths", "title_filled", "text_filled")
PARTS = "part_terms"  # column with the first term of each part, by its place, int64


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
        """Place of the first posting of each term, and behind them the number of postings, int64 of shape (t + 1,)."""
        return np.concatenate([[0], np.cumsum(self.frequencies, dtype=np.int64)])


class Part(NamedTuple):
    """The postings of some consecutive terms, as :class:`Postings` has them."""

    rows: np.ndarray
    title_counts: np.ndarray
    text_counts: np.ndarray


@dataclass(frozen=True)
class PostingsFile:
    """The postings of a chunk, which are read in parts."""

    head: Postings  # terms and documents; its postings are empty
    part_starts: np.ndarray  # place of the first posting of each part, and the number of postings, int64 of shape (parts + 1,)
    part: Callable[[int], Part]  # reads a part by its number, in any thread; raises DataError if it was damaged

    @property
    def parts(self) -> range:
        """Numbers of the parts."""
        return range(len(self.part_starts) - 1)


class ChunkPostings(Artifact):
    """The postings of a chunk on disk."""

    pattern = POSTINGS
    large = represents = True

    def open(self, analyzer: str) -> PostingsFile:
        """Read terms and documents; postings part by part. Raises DataError as :func:`open_postings` does."""
        return open_postings(self.path, analyzer)

    @staticmethod
    def write(stream: Stream, data: tuple[Postings, str]) -> None:
        """Write postings, whose terms come from the analyzer of this name."""
        postings, analyzer = data
        part_terms = np.flatnonzero(np.diff(postings.starts[:-1] // PART_POSTINGS, prepend=-1))
        columns = {field.name: getattr(postings, field.name) for field in fields(postings)} | {PARTS: part_terms}
        nothing = {name: values[:0] for name, values in columns.items()}
        nothing["terms"] = pa.array([], pa.large_string())  # of an empty slice of strings, all would be written
        with ColumnWriter(stream, _metadata(analyzer)) as writer:
            writer.write(columns | {name: nothing[name] for name in POSTING_COLUMNS})
            for first, last in pairwise([*postings.starts[part_terms].tolist(), len(postings.rows)]):
                part = {name: columns[name][first:last] for name in POSTING_COLUMNS}
                writer.write({**nothing, **part, "rows": np.diff(part["rows"], prepend=np.int32(0))})


def open_postings(path: str | Path, analyzer: str, *, keep: bool = False) -> PostingsFile:
    """Read the terms and the documents of a chunk; its postings are read part by part, or kept in memory all at once.

    The caller checks by its digest that the file is the one that was recorded; here what is read has to fit together. Raises
    DataError if the file was damaged, or comes from another analyzer.
    """
    names = [*TERM_COLUMNS, *DOCUMENT_COLUMNS, PARTS]
    with reading(path, "the postings"):
        (lists,) = read_columns(path, _metadata(analyzer), names, batch=0)
    values = {name: values if name == "terms" else values.to_numpy(zero_copy_only=False) for name, values in lists.items()}
    part_terms = values.pop(PARTS)
    head = Postings(**values, **{name: np.empty(0, np.int32) for name in POSTING_COLUMNS})
    if problem := _problem(head, part_terms):
        raise damaged(path, problem)
    part_starts = np.append(head.starts[part_terms], head.starts[-1])

    def part(number: int) -> Part:
        with reading(path, "the postings"):
            (lists,) = read_columns(path, _metadata(analyzer), POSTING_COLUMNS, batch=1 + number)
        stored = Part(*(lists[name].to_numpy() for name in POSTING_COLUMNS))
        read = stored._replace(rows=np.cumsum(stored.rows, dtype=np.int32))
        if problem := _problem_of_part(read, part_starts[number + 1] - part_starts[number], len(head.text_lengths)):
            raise damaged(path, problem)
        return read

    postings = PostingsFile(head, part_starts, part)
    return replace(postings, part=[part(number) for number in postings.parts].__getitem__) if keep else postings


def _metadata(analyzer: str) -> dict[str, bytes | str]:
    return {"format": FORMAT, "analyzer": analyzer}


def _problem(head: Postings, part_terms: np.ndarray) -> str | None:
    for group in (TERM_COLUMNS, DOCUMENT_COLUMNS):
        lengths = {name: len(getattr(head, name)) for name in group}
        if len(set(lengths.values())) > 1:
            return f"found columns of different lengths, {lengths}"
    if (head.frequencies < 1).any():
        return "found terms without documents"
    bounds = np.concatenate([[-1], part_terms, [len(head.terms)]])
    if (np.diff(bounds) < 1).any() or (len(head.terms) and bounds[1] != 0):
        return f"found parts that begin with the terms {part_terms[:10].tolist()} of {len(head.terms)}"
    return None


def _problem_of_part(part: Part, expected: int, documents: int) -> str | None:
    """Return the contradiction in a part; None without one."""
    lengths = {name: len(values) for name, values in part._asdict().items()}
    if set(lengths.values()) != {expected}:
        return f"found columns of the lengths {lengths}, but frequencies of {expected} postings"
    if len(part.rows) and not 0 <= part.rows.min() <= part.rows.max() < documents:
        return f"found postings of the rows {part.rows.min()} to {part.rows.max()} among {documents} documents"
    return None


def made_with(analyzer: str) -> dict[str, str]:
    """Return the analyzer, the processor and the versions of the packages that make postings, for records."""
    versions = {"python": platform.python_version(), "numpy": np.__version__, "pyarrow": pa.__version__}
    own = analyses()[analyzer].made
    return {"analyzer": analyzer, "device": platform.processor() or platform.machine(), **versions, **own}
