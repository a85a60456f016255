"""The texts of a chunk as they are weighed: each once, and with what is added to it."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from beirflow.expansions.files import ExpansionFile

ADDED = "added"
"""The column of what is added to documents."""

BATCH_DOCUMENTS = 4096
"""Documents whose expansion is read at once."""


class Texts(NamedTuple):
    """The different texts of some rows, in the order in which they come.

    Attributes:
        texts: The texts.
        added: Of each, what is added to it; a text with other additions is another. None where nothing is added to any.
        indices: Number of each row's text, integers of shape (rows,).
    """

    texts: list[str]
    added: list[str] | None
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
    return table.append_column(ADDED, pa.chunked_array(list(added.joined(BATCH_DOCUMENTS)), pa.large_string()))


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
    added = table[ADDED].combine_chunks().dictionary_encode()
    size = max(1, len(added.dictionary))
    pairs = pa.array(texts.indices.to_numpy().astype(np.int64) * size + added.indices.to_numpy()).dictionary_encode()
    of_text, of_added = (pa.array(numbers) for numbers in np.divmod(pairs.dictionary.to_numpy(), size))
    return Texts(
        texts.dictionary.take(of_text).to_pylist(), added.dictionary.take(of_added).to_pylist(), pairs.indices.to_numpy()
    )
