"""The weighed texts of a chunk: each distinct text once, with its expansion."""

from collections.abc import Sequence
from typing import NamedTuple, overload

import numpy as np
import pyarrow as pa

from beirflow.expansions.files import ExpansionFile

ADDED = "added"
"""The column of what is added to documents."""

BATCH_DOCUMENTS = 4096
"""Documents whose expansion is read at once."""


class Strings(Sequence[str]):
    """Some rows of a column as strings, which are made when they are asked for: what is added to a chunk may be large.

    Args:
        column: Strings.
        rows: The rows, int64.
    """

    def __init__(self, column: pa.Array, rows: np.ndarray) -> None:
        self._column, self._rows = column, rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        rows = self._rows[place]
        return str(self._column[int(rows)]) if isinstance(place, int) else self._column.take(pa.array(rows)).to_pylist()


class Texts(NamedTuple):
    """The different texts of some rows, in the order in which they come.

    Attributes:
        texts: The texts.
        added: Of each, what is added to it; a text with other additions is another. None where nothing is added to any.
        indices: Number of each row's text, integers of shape (rows,).
    """

    texts: Sequence[str]
    added: Sequence[str] | None
    indices: np.ndarray


def with_added(table: pa.Table, added: ExpansionFile, chunk: int) -> pa.Table:
    """Put beside every document of a chunk what is added to it.

    Args:
        table: The documents.
        added: Queries that are added to them.
        chunk: Number of the chunk.

    Returns:
        The documents, with the queries of each as one text in the column :data:`ADDED`.

    Raises:
        DataError: The expansion is damaged, or of another number of documents.
    """
    added.check_rows(chunk, table.num_rows)
    return table.append_column(ADDED, pa.chunked_array(list(added.joined(BATCH_DOCUMENTS)), pa.large_string()).combine_chunks())


def different_texts(table: pa.Table) -> Texts:
    """Find the rows that are weighed alike.

    Args:
        table: With a column ``text``, and one of what is added to it where something is.

    Returns:
        The different texts.
    """
    texts = table["text"].combine_chunks().dictionary_encode()
    if ADDED not in table.column_names:
        return Texts(texts.dictionary.to_pylist(), None, texts.indices.to_numpy())
    numbers, added = texts.indices.to_numpy().astype(np.int64), table[ADDED].combine_chunks()
    # Only where a text comes again, it matters whether the same is added to it.
    repeated = np.flatnonzero(np.bincount(numbers)[numbers] > 1)
    other = np.zeros(len(numbers), np.int64)
    other[repeated] = added.take(pa.array(repeated)).dictionary_encode().indices.to_numpy()
    indices = pa.array(numbers * (len(numbers) + 1) + other).dictionary_encode().indices.to_numpy()
    rows = np.unique(indices, return_index=True)[1]
    return Texts(Strings(table["text"].combine_chunks(), rows), Strings(added, rows), indices)
