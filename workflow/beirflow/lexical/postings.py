"""Postings on disk: the terms of a chunk, and the documents of each term.

The file has a single batch of columns, since columns have lengths of their own. Rows of documents are stored as differences,
which compress to little more than a byte.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from operator import methodcaller
from pathlib import Path

import numpy as np
import pyarrow as pa

from beirflow.files.verified import damaged
from beirflow.files.writing import atomic_path
from beirflow.postings.columns import ColumnWriter, read_columns, reading

FORMAT = b"beirflow postings 1"

TERM_COLUMNS = ("terms", "frequencies", "title_frequencies", "text_frequencies")
POSTING_COLUMNS = ("rows", "title_counts", "text_counts")
DOCUMENT_COLUMNS = ("title_lengths", "text_lengths", "title_filled", "text_filled")

SEARCHED = (
    "terms", "frequencies", "rows", "title_counts", "text_counts", "title_lengths", "text_lengths", "text_filled",
)  # fmt: skip
"""What a search reads of the postings."""


@dataclass(frozen=True)
class Postings:
    """A chunk of n documents with t different terms, and p postings: the pairs of a term and a document that has it.

    Terms are in byte order; postings by term and then by row. Title and text are apart, so that they can be one field or two.
    Columns that were not read are empty.

    Attributes:
        terms: The terms, large_string of shape (t,).
        frequencies: Documents that have the term, int32 of shape (t,): how many postings it has.
        title_frequencies: Documents that have the term in their title, without documents that have no text, int32 of shape (t,).
        text_frequencies: Documents that have the term in their text, int32 of shape (t,).
        rows: The document of each posting, by its row in the chunk, int32 of shape (p,).
        title_counts: How often its title has the term, uint8, uint16 or uint32 of shape (p,).
        text_counts: How often its text has the term, uint8, uint16 or uint32 of shape (p,).
        title_lengths: Terms of each title, int32 of shape (n,).
        text_lengths: Terms of each text, int32 of shape (n,).
        title_filled: Whether each title has more than white space, bool of shape (n,).
        text_filled: Whether each text has more than white space, bool of shape (n,).
    """

    terms: pa.LargeStringArray
    frequencies: np.ndarray
    title_frequencies: np.ndarray
    text_frequencies: np.ndarray
    rows: np.ndarray
    title_counts: np.ndarray
    text_counts: np.ndarray
    title_lengths: np.ndarray
    text_lengths: np.ndarray
    title_filled: np.ndarray
    text_filled: np.ndarray

    @cached_property
    def starts(self) -> np.ndarray:
        """Place of the first posting of each term, and behind them the number of postings, int64 of shape (t + 1,)."""
        return np.concatenate([[0], np.cumsum(self.frequencies, dtype=np.int64)])


def places_in_order(terms: pa.LargeStringArray, among: pa.LargeStringArray) -> np.ndarray:
    """Where a few terms are among many others in byte order: only some of the many are looked at.

    Args:
        terms: Different terms.
        among: Different terms in byte order, any number.

    Returns:
        The same as :func:`~beirflow.runs.searched.places_of`.
    """
    found = np.full(len(terms), -1, np.int64)
    for number, term in enumerate(terms.to_pylist()):  # whose order is that of the bytes of UTF-8
        place = bisect_left(among, term, key=methodcaller("as_py"))
        if place < len(among) and among[place].as_py() == term:
            found[number] = place
    return found


def write_postings(path: str | Path, postings: Postings, analyzer: str) -> None:
    """Write the postings of a chunk.

    Args:
        path: The file to create or replace.
        postings: What to write.
        analyzer: Name of the analyzer that made the terms.
    """
    columns = {field.name: getattr(postings, field.name) for field in fields(postings)}
    columns["rows"] = np.diff(postings.rows, prepend=np.int32(0))
    with atomic_path(path) as partial, ColumnWriter(str(partial), {"format": FORMAT, "analyzer": analyzer}) as writer:
        writer.write(columns)


def read_postings(path: str | Path, analyzer: str, columns: Sequence[str] | None = None) -> Postings:
    """Read the postings of a chunk, or some columns of them.

    Whether the file is the one that was recorded, the caller checks by its digest; here what is read has to fit together.

    Args:
        path: What :func:`write_postings` wrote.
        analyzer: Name of the analyzer that the terms should come from.
        columns: Attributes of :class:`Postings` to read; all if None.

    Returns:
        The postings; columns that were not asked for are empty.

    Raises:
        DataError: The file was damaged, or comes from another analyzer.
    """
    wanted = [field.name for field in fields(Postings) if columns is None or field.name in columns]
    with reading(path, "postings"):
        found = _read(path, analyzer, wanted)
    if problem := _problem(found, wanted):
        raise damaged(path, problem)
    return found


def _read(path: str | Path, analyzer: str, wanted: list[str]) -> Postings:
    """Read columns; a ValueError says that these are other postings."""
    (lists,) = read_columns(path, {"format": FORMAT, "analyzer": analyzer}, wanted)
    values = {name: values if name == "terms" else values.to_numpy(zero_copy_only=False) for name, values in lists.items()}
    if "rows" in values:
        values["rows"] = np.cumsum(values["rows"], dtype=np.int32)
    nothing = {field.name: np.empty(0, np.int32) for field in fields(Postings)}
    return Postings(**{**nothing, "terms": pa.array([], pa.large_string()), **values})


def _problem(found: Postings, wanted: Sequence[str]) -> str | None:
    """What does not fit together in the columns that were read; None if all does."""
    for group in (TERM_COLUMNS, POSTING_COLUMNS, DOCUMENT_COLUMNS):
        lengths = {name: len(getattr(found, name)) for name in group if name in wanted}
        if len(set(lengths.values())) > 1:
            return f"found columns of different lengths, {lengths}"
    if {"frequencies", "rows"} <= set(wanted) and ((found.frequencies < 1).any() or found.starts[-1] != len(found.rows)):
        return f"found {len(found.rows)} postings, but frequencies of {found.starts[-1]}"
    if {"rows", "text_lengths"} <= set(wanted) and len(found.rows):
        first, last = found.rows.min(), found.rows.max()
        if first < 0 or last >= len(found.text_lengths):
            return f"found postings of the rows {first} to {last} among {len(found.text_lengths)} documents"
    return None
