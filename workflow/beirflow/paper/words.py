"""The frequency of every word in a corpus, in memory that does not grow with the corpus.

A word is a stretch of letters, marks and digits of any script, in lower case; the paper does not say what it takes for one.
Blocks of texts are counted one by one; where many different words have come together, they are written to a temporary file,
sorted. In the end these files are merged, the words with one first byte at a time, so that no more than these are in memory at
once.

``words/<dataset>.parquet`` has the columns ``word`` and ``count``, words in byte order, and a row group for every first byte.
"""

import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

WORDS = pa.schema([("word", pa.large_string()), ("count", pa.int64())])

NO_WORD = r"[^\p{L}\p{M}\p{N}]+"

MOST = 1 << 22
"""Different words that are kept in memory; some 100 bytes each."""


class WordCounter:
    """Counts words of texts; a context, at whose end the temporary files are deleted.

    Args:
        most: Different words in memory.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._blocks: list[pa.Table] = []
        self._spilled: list[dict[int, Path]] = []
        self._folder = tempfile.TemporaryDirectory(prefix="beirflow-words-")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._folder.cleanup()

    def add(self, texts: pa.Array) -> None:
        """Count the words of some texts."""
        found = pc.value_counts(pc.list_flatten(pc.split_pattern_regex(pc.utf8_lower(texts), NO_WORD)))
        block = pa.Table.from_arrays([found.field("values").cast(pa.large_string()), found.field("counts")], schema=WORDS)
        self._blocks.append(block.filter(pc.greater(pc.binary_length(block["word"]), 0)))
        if sum(each.num_rows for each in self._blocks) > self._most:
            self._blocks = [together(self._blocks)]
            if self._blocks[0].num_rows > self._most // 2:
                self._spill()

    def _spill(self) -> None:
        """Write what is in memory to files, one for every first byte."""
        files = {}
        for first, part in by_first_byte(together(self._blocks)):
            files[first] = Path(self._folder.name, f"{len(self._spilled)}-{first}.parquet")
            pq.write_table(part, files[first])
        self._spilled.append(files)
        self._blocks = []

    def merged(self) -> Iterator[pa.Table]:
        """All words with their counts.

        Yields:
            The words with one first byte, in byte order.
        """
        kept = dict(by_first_byte(together(self._blocks))) if self._blocks else {}
        for first in sorted(set(kept).union(*self._spilled)):
            parts = [pq.read_table(files[first], schema=WORDS) for files in self._spilled if first in files]
            yield together([*parts, *([kept[first]] if first in kept else [])])


def together(parts: list[pa.Table]) -> pa.Table:
    """The counts of some tables as one, words in byte order."""
    if not parts:
        return WORDS.empty_table()
    summed = pa.concat_tables(parts).group_by("word").aggregate([("count", "sum")])
    table = pa.Table.from_arrays([summed["word"], summed["count_sum"]], schema=WORDS)
    return table.take(pc.sort_indices(table["word"]))


def by_first_byte(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """A sorted table as its parts with the same first byte.

    Args:
        table: As :func:`together` gives it.

    Yields:
        The byte and the part.
    """
    if not table.num_rows:
        return
    firsts = pc.binary_slice(table["word"].combine_chunks().cast(pa.large_binary()), 0, 1)
    changes = np.flatnonzero(np.diff(pc.dictionary_encode(firsts).indices.to_numpy())) + 1
    for start, end in pairwise([0, *changes.tolist(), table.num_rows]):
        yield firsts[start].as_py()[0], table.slice(start, end - start)


def write_words(path: Path, counter: WordCounter) -> dict[str, int]:
    """Write what was counted.

    Args:
        path: Parquet to write, as this module says.
        counter: Has counted.

    Returns:
        ``words``, how many there were, and ``different_words``.
    """
    total = different = 0
    with pq.ParquetWriter(path, WORDS, compression="zstd") as writer:
        for part in counter.merged():
            writer.write_table(part, row_group_size=part.num_rows)
            total += pc.sum(part["count"]).as_py()
            different += part.num_rows
    return {"words": total, "different_words": different}


def read_words(path: str | Path) -> Iterator[tuple[int, pa.Table]]:
    """Read the words of a corpus, those with one first byte at a time.

    Args:
        path: What :func:`write_words` wrote.

    Yields:
        First byte, and the words with their counts.
    """
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            part = file.read_row_group(group)
            yield part["word"][0].as_py().encode()[0], part
