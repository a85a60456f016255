"""Statistics of a corpus: the document frequency of each term, and the lengths of documents.

They are a sum over the chunks. Memory is bounded by the terms of the corpus and those of some chunks.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.files.writing import atomic_path
from beirflow.lexical.bm25 import FieldStatistics
from beirflow.lexical.postings import Postings, open_postings, places_in_order
from beirflow.runs.searched import places_of

PENDING_TERMS = 1 << 22
"""Terms of chunks that wait to be added up: some 40 bytes each."""

FREQUENCIES = {"contents": "frequencies", "title": "title_frequencies", "text": "text_frequencies"}
"""The column of :class:`~beirflow.lexical.postings.Postings` that counts the documents of each field."""

TABLE = pa.schema([("term", pa.large_string()), *((name, pa.int64()) for name in FREQUENCIES)])


class CorpusStatistics(NamedTuple):
    """Counts over a corpus, apart from its terms.

    Attributes:
        documents: Documents of the corpus.
        without_contents: Documents whose title and text are nothing but white space: not in the index of ``contents``.
        without_text: Documents whose text is nothing but white space: not in the index of ``title`` and ``text``.
        fields: Each field, by its name.
        terms: Different terms.
    """

    documents: int
    without_contents: int
    without_text: int
    fields: dict[str, FieldStatistics]
    terms: int

    def as_record(self) -> dict[str, Any]:
        """The counts as JSON can hold them."""
        return {**self._asdict(), "fields": {name: counted._asdict() for name, counted in self.fields.items()}}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """The counts that :meth:`as_record` gave."""
        return cls(**{**record, "fields": {name: FieldStatistics(**counted) for name, counted in record["fields"].items()}})


def add_up(paths: Sequence[str | Path], analyzer: str, table_path: str | Path) -> CorpusStatistics:
    """Add up the statistics of all chunks.

    Args:
        paths: The postings of each chunk.
        analyzer: Name of the analyzer that made them.
        table_path: Parquet to write: ``term``, in byte order, and in how many documents each field has it, int64.

    Returns:
        The other counts.

    Raises:
        DataError: Postings were damaged, or come from another analyzer.
    """
    counts = np.zeros((3, 3), np.int64)
    total, pending = TABLE.empty_table(), []
    for path in paths:
        chunk = open_postings(path, analyzer).head
        counts += _counts(chunk)
        arrays = [chunk.terms, *(pa.array(getattr(chunk, column)).cast(pa.int64()) for column in FREQUENCIES.values())]
        pending.append(pa.Table.from_arrays(arrays, schema=TABLE))
        if sum(map(len, pending)) > PENDING_TERMS:
            total, pending = _sum([total, *pending]), []
    total = _sum([total, *pending]).sort_by("term")
    with atomic_path(table_path) as partial:
        pq.write_table(total, partial, compression="zstd", write_page_checksum=True)
    fields = {name: FieldStatistics(*counts[i, :2].tolist()) for i, name in enumerate(FREQUENCIES)}
    documents, without_contents, without_text = counts[:, 2].tolist()
    return CorpusStatistics(documents, without_contents, without_text, fields, len(total))


def _counts(chunk: Postings) -> np.ndarray:
    """A row a field: its documents, its terms; and in a third column documents, those without contents, those without text."""
    in_contents = chunk.title_filled | chunk.text_filled
    lengths = chunk.title_lengths + chunk.text_lengths, chunk.title_lengths * chunk.text_filled, chunk.text_lengths
    others = len(in_contents), (~in_contents).sum(), (~chunk.text_filled).sum()
    return np.array([[(of > 0).sum(), of.sum(dtype=np.int64), other] for of, other in zip(lengths, others, strict=True)])


def _sum(tables: list[pa.Table]) -> pa.Table:
    """One row a term, in no order."""
    names = list(FREQUENCIES)
    whole = pa.concat_tables(tables).group_by("term").aggregate([(name, "sum") for name in names])
    return whole.select(["term", *(f"{name}_sum" for name in names)]).rename_columns(TABLE.names).cast(TABLE)


def frequencies_of(table_path: str | Path, terms: pa.Array, field: str) -> np.ndarray:
    """In how many documents of the corpus a field has terms.

    Args:
        table_path: What :func:`add_up` wrote.
        terms: Terms, large_string of shape (n,).
        field: Name of the field.

    Returns:
        int64 of shape (n,); 0 for a term that the corpus does not have.
    """
    table = _read(table_path, [field])
    places = places_of(terms, table["term"].combine_chunks())
    return np.append(table[field].to_numpy(), 0)[places]  # the last for -1


class Frequencies:
    """The table of :func:`add_up` in memory, for what asks it again and again.

    Args:
        table_path: The table.
        fields: Names of the fields that are asked for.
    """

    def __init__(self, table_path: str | Path, fields: Sequence[str]) -> None:
        table = _read(table_path, fields)
        self._terms = table["term"].combine_chunks()
        self._counts = {field: np.append(table[field].to_numpy(), 0) for field in fields}  # the last for -1

    def of(self, terms: pa.Array) -> dict[str, np.ndarray]:
        """By field what :func:`frequencies_of` gives, for a few terms.

        Args:
            terms: Terms, large_string of shape (n,).

        Returns:
            int64 of shape (n,) each.
        """
        places = places_in_order(terms, self._terms)
        return {field: counts[places] for field, counts in self._counts.items()}


def _read(table_path: str | Path, fields: Sequence[str]) -> pa.Table:
    """The terms and some fields of the table; ``pq.read_table`` would import all of Arrow's datasets."""
    return pq.ParquetFile(table_path, page_checksum_verification=True).read(["term", *fields])
