"""A second implementation of the statistics of a corpus, from the counts of its postings, for the audit."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from beirflow.lexical.postings import Postings
from beirflow.lexical.statistics import FREQUENCIES, TABLE


def plain_statistics(chunks: Iterable[Postings]) -> tuple[pa.Table, dict[str, Any]]:
    """Count over all chunks.

    Args:
        chunks: The postings of each.

    Returns:
        In how many documents each field has each term, as :data:`~beirflow.lexical.statistics.TABLE`, terms in byte order; and
        the other counts, as their record has them.

    Raises:
        ValueError: A document is said to have another length than its postings give it.
    """
    tables, fields, others = [TABLE.empty_table()], np.zeros((len(FREQUENCIES), 2), np.int64), np.zeros(3, np.int64)
    for number, chunk in enumerate(chunks):
        documents, per_term = len(chunk.text_filled), np.diff(chunk.starts)
        term, filled = np.repeat(np.arange(len(chunk.terms)), per_term), chunk.text_filled
        has = (np.ones(len(term), bool), (chunk.title_counts > 0) & filled[chunk.rows], chunk.text_counts > 0)
        tables.append(
            pa.Table.from_arrays([chunk.terms, *(pa.array(_count(term, each, len(chunk.terms))) for each in has)], schema=TABLE)
        )
        titles, texts = (_lengths(chunk.rows, counts, documents) for counts in (chunk.title_counts, chunk.text_counts))
        for found, stored in ((titles, chunk.title_lengths), (texts, chunk.text_lengths)):
            if not np.array_equal(found, stored):
                row = int(np.flatnonzero(found != stored)[0])
                raise ValueError(f"document {row} of chunk {number} has the length {stored[row]}, and {found[row]} terms")
        for place, lengths in enumerate((titles + texts, titles * filled, texts)):
            fields[place] += (lengths > 0).sum(), lengths.sum()
        others += documents, (~(chunk.title_filled | filled)).sum(), (~filled).sum()
    names = list(FREQUENCIES)
    whole = pa.concat_tables(tables).group_by("term").aggregate([(name, "sum") for name in names])
    table = whole.select(["term", *(f"{name}_sum" for name in names)]).rename_columns(TABLE.names).cast(TABLE).sort_by("term")
    counted = {name: {"documents": int(some), "terms": int(all_)} for name, (some, all_) in zip(names, fields, strict=True)}
    counts = dict(zip(("documents", "without_contents", "without_text"), others.tolist(), strict=True))
    return table, {**counts, "fields": counted, "terms": len(table)}


def _count(term: np.ndarray, has: np.ndarray, terms: int) -> np.ndarray:
    """Count the postings of each term, int64 of shape (terms,)."""
    return np.bincount(term[has], minlength=terms).astype(np.int64)


def _lengths(rows: np.ndarray, counts: np.ndarray, documents: int) -> np.ndarray:
    """Terms of each document, int64 of shape (documents,)."""
    return np.bincount(rows, weights=counts, minlength=documents).astype(np.int64)
