"""Statistics of a corpus: the document frequency of each term, and the lengths of documents, added up over the chunks."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.core.artifact import Artifact, Made, Stream, step
from beirflow.core.layout import DOCUMENTS, STATISTICS
from beirflow.families.lexical.bm25 import FieldStatistics
from beirflow.families.lexical.fields import Index
from beirflow.families.lexical.postings import ChunkPostings, Postings, made_with
from beirflow.ranking.searched import places_of

BISECTED = 1000  # terms that a scan looks at in the time in which one is found by bisection

PENDING_TERMS = 1 << 22  # terms of chunks that are in memory before they are added up, some 40 bytes each

FREQUENCIES = {"contents": "frequencies", "title": "title_frequencies", "text": "text_frequencies"}
"""The column of :class:`~beirflow.families.lexical.postings.Postings` that counts the documents of each field."""

TABLE = pa.schema([("term", pa.large_string()), *((name, pa.int64()) for name in FREQUENCIES)])


class CorpusStatistics(NamedTuple):
    """Counts over a corpus, apart from its terms."""

    documents: int  # of the corpus
    without_contents: int  # documents whose title and text are only white space: not in the index of "contents"
    without_text: int  # documents whose text is only white space: not in the index of "title" and "text"
    fields: dict[str, FieldStatistics]  # by name
    terms: int  # different terms

    def as_record(self) -> dict[str, Any]:
        """Return the counts as JSON can hold them."""
        return {**self._asdict(), "fields": {name: counted._asdict() for name, counted in self.fields.items()}}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Self:
        """Build the counts from :meth:`as_record`."""
        return cls(**{**record, "fields": {name: FieldStatistics(**counted) for name, counted in record["fields"].items()}})


class Statistics(Artifact):
    """Document frequencies of a corpus on disk; the record has the other counts."""

    pattern = STATISTICS
    represents = True

    @property
    def counts(self) -> CorpusStatistics:
        """Counts over the corpus."""
        return CorpusStatistics.of_record(self.record["statistics"])

    @staticmethod
    def write(stream: Stream, data: pa.Table) -> None:
        """Write the table."""
        pq.write_table(data, stream, compression="zstd", write_page_checksum=True)


@step(Statistics, stage="index", ancestors=(DOCUMENTS,), same=("analyzer",))
def sum_statistics(postings: Sequence[ChunkPostings], index: Index) -> Made:
    """Add up the statistics of all chunks: document frequencies of terms, and lengths of documents."""
    table, counts = add_up(each.read(index.name, postings=False) for each in postings)
    left_out = {"documents_without_contents": counts.without_contents, "documents_without_text": counts.without_text}
    made = made_with(index.analyzer)
    return Made(table, made=made, counts=left_out, analyzer=index.name, statistics=counts.as_record())


def add_up(chunks: Iterable[Postings]) -> tuple[pa.Table, CorpusStatistics]:
    """Add up the statistics of the postings of all chunks.

    Returns ``term``, in byte order, and its document frequency in each field, int64; and the other counts.
    """
    counts = np.zeros((3, 3), np.int64)
    total, pending = TABLE.empty_table(), []
    for chunk in chunks:
        counts += _counts(chunk)
        frequencies = (pa.array(getattr(chunk, column), pa.int64()) for column in FREQUENCIES.values())
        pending.append(pa.Table.from_arrays([chunk.terms, *frequencies], schema=TABLE))
        if sum(map(len, pending)) > PENDING_TERMS:
            total, pending = _sum([total, *pending]), []
    total = _sum([total, *pending]).sort_by("term")
    fields = {name: FieldStatistics(*counts[i, :2].tolist()) for i, name in enumerate(FREQUENCIES)}
    documents, without_contents, without_text = counts[:, 2].tolist()
    return total, CorpusStatistics(documents, without_contents, without_text, fields, len(total))


def _counts(chunk: Postings) -> np.ndarray:
    """Return for contents, title and text the documents with a term and the terms, int64 of shape (3, 3).

    The third column has other counts: all documents, those without contents, and those without text.
    """
    in_contents = chunk.title_filled | chunk.text_filled
    lengths = chunk.title_lengths + chunk.text_lengths, chunk.title_lengths * chunk.text_filled, chunk.text_lengths
    others = len(in_contents), (~in_contents).sum(), (~chunk.text_filled).sum()
    return np.array([[(of > 0).sum(), of.sum(dtype=np.int64), other] for of, other in zip(lengths, others, strict=True)])


def _sum(tables: list[pa.Table]) -> pa.Table:
    """Add up frequencies: one row per term, in no order."""
    whole = pa.concat_tables(tables).group_by("term").aggregate([(name, "sum") for name in FREQUENCIES])
    return pa.table([whole["term"], *(whole[f"{name}_sum"] for name in FREQUENCIES)], schema=TABLE)


class Frequencies:
    """Document frequencies of a corpus in memory, in some fields."""

    def __init__(self, table_path: str | Path, fields: Sequence[str]) -> None:
        # ``pq.read_table`` would import all of Arrow's datasets.
        table = pq.ParquetFile(table_path, page_checksum_verification=True).read(["term", *fields])
        self._terms = table["term"].combine_chunks()
        self._counts = {field: np.append(table[field].to_numpy(), 0) for field in fields}  # at -1 for unknown terms

    def of(self, terms: pa.Array) -> dict[str, np.ndarray]:
        """Return by field the document frequencies of terms, 0 for unknown ones, int64 of shape (terms,)."""
        places = places_in_order(terms, self._terms)
        return {field: counts[places] for field, counts in self._counts.items()}


def places_in_order(terms: pa.LargeStringArray, among: pa.LargeStringArray) -> np.ndarray:
    """Find the places of terms among others in byte order, as :func:`~beirflow.ranking.searched.places_of` returns them."""
    if len(among) < BISECTED * len(terms):
        return places_of(terms, among)
    places = np.full(len(terms), -1, np.int64)
    for number, term in enumerate(terms.to_pylist()):  # whose order is that of the bytes of UTF-8
        place = bisect_left(among, term, key=methodcaller("as_py"))
        if place < len(among) and among[place].as_py() == term:
            places[number] = place
    return places
