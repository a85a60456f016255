"""The frequency of every word in a corpus.

A word is a stretch of letters, marks and digits of any script, in lower case; the paper does not define the term.

``words/<dataset>.parquet`` has the columns ``word`` and ``count``, words in byte order, and a row group for every first byte, so
that a reader of many corpora holds the words with one first byte at a time.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

WORDS = pa.schema([("word", pa.large_string()), ("count", pa.int64())])

NO_WORD = r"[^\p{L}\p{M}\p{N}]+"

PENDING_WORDS = 1 << 22
"""Rows of unsummed counts after which they are summed; some 100 bytes each. The largest corpora have as many different words."""


class WordCounter:
    """Counter of the words of texts, which holds every different word in memory, and up to ``most`` rows of unsummed counts."""

    def __init__(self, most: int = PENDING_WORDS) -> None:
        self._most = most
        self._total, self._pending = WORDS.empty_table(), list[pa.Table]()

    def add(self, texts: pa.Array) -> None:
        """Count the words of some texts."""
        counts = pc.value_counts(pc.list_flatten(pc.split_pattern_regex(pc.utf8_lower(texts), NO_WORD)))
        block = pa.Table.from_arrays([counts.field("values").cast(pa.large_string()), counts.field("counts")], schema=WORDS)
        self._pending.append(block.filter(pc.greater(pc.binary_length(block["word"]), 0)))
        if sum(table.num_rows for table in self._pending) > self._most:
            self._sum()

    def _sum(self) -> None:
        summed = pa.concat_tables([self._total, *self._pending]).group_by("word").aggregate([("count", "sum")])
        self._total, self._pending = pa.Table.from_arrays([summed["word"], summed["count_sum"]], schema=WORDS), []

    def table(self) -> pa.Table:
        """Return all words with their counts, in byte order."""
        self._sum()
        return self._total.take(pc.sort_indices(self._total["word"]))


def write_words(path: Path, counter: WordCounter) -> dict[str, int]:
    """Write the counted words, and return the sum of the counts, ``words``, and the number of ``different_words``."""
    table = counter.table()
    with pq.ParquetWriter(path, WORDS, compression="zstd") as writer:
        for part in _by_first_byte(table):
            writer.write_table(part, row_group_size=part.num_rows)
    return {"words": pc.sum(table["count"]).as_py() or 0, "different_words": table.num_rows}


def _by_first_byte(table: pa.Table) -> Iterator[pa.Table]:
    """Split sorted words into the parts with the same first byte."""
    if not table.num_rows:
        return
    firsts = pc.binary_slice(table["word"].combine_chunks().cast(pa.large_binary()), 0, 1)
    changes = np.flatnonzero(np.diff(pc.dictionary_encode(firsts).indices.to_numpy())) + 1
    for start, end in pairwise([0, *changes.tolist(), table.num_rows]):
        yield table.slice(start, end - start)


def read_words(path: str | Path) -> Iterator[tuple[int, pa.Table]]:
    """Read the words of a corpus, those with one first byte at a time: the byte, and the words with their counts."""
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            part = file.read_row_group(group)
            yield part["word"][0].as_py().encode()[0], part
