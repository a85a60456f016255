"""Token vectors on disk: float16, text by text, in segments that a search holds in memory one at a time.

Equal texts are stored once: a segment has its texts, and the rows of the table that have each of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from beirflow.core.artifact import Artifact, Stream
from beirflow.core.layout import TOKEN_VECTORS
from beirflow.core.verified import damaged, reading
from beirflow.families.postings.columns import ColumnWriter, read_columns
from beirflow.families.segments import cut

FORMAT = b"beirflow token vectors 1"

SEGMENT_TOKENS = 1 << 17  # vectors after which a segment ends: 32 MiB of 128 dimensions
LONGEST = 1.01  # largest length of a vector that was of length 1 before it was rounded to float16, and so of each of its numbers

_BITS_OF_LONGEST, _MINUS = int(np.float16(LONGEST).view(np.uint16)), 1 << 15


class TokenVectors(NamedTuple):
    """The vectors of the tokens of n texts."""

    counts: np.ndarray  # tokens of each text, above 0, int64 of shape (n,)
    vectors: np.ndarray  # one after another, float16 of shape (tokens, dim)

    @property
    def starts(self) -> np.ndarray:
        """First vector of each text, and their number, int64 of shape (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])

    @classmethod
    def together(cls, parts: Sequence["TokenVectors"]) -> Self:
        """Concatenate the texts of several parts."""
        return cls(np.concatenate([part.counts for part in parts]), np.concatenate([part.vectors for part in parts]))

    def take(self, texts: np.ndarray) -> "TokenVectors":
        """Return the texts with some numbers, int64 of shape (m,), in their order."""
        counts = self.counts[texts]
        places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return TokenVectors(counts, self.vectors[np.repeat(self.starts[texts], counts) + places])


def with_zeros(texts: TokenVectors) -> TokenVectors:
    """Add a vector of zeros for every text without vectors."""
    if texts.counts.all():
        return texts
    counts = np.maximum(texts.counts, 1)
    vectors = np.zeros((int(counts.sum()), texts.vectors.shape[1]), np.float16)
    vectors[np.repeat(texts.counts > 0, counts)] = texts.vectors
    return TokenVectors(counts, vectors)


class Segment(NamedTuple):
    """Some texts of a table, and the rows that have them."""

    texts: TokenVectors  # their vectors
    rows: np.ndarray  # rows of the table, int32 of shape (rows,)
    text: np.ndarray  # number of each row's text in this segment, int32 of shape (rows,)


class TokenVectorFile(Artifact):
    """The token vectors of queries or of a chunk on disk, as :func:`read_segments` reads them."""

    pattern = TOKEN_VECTORS
    large = represents = True

    @staticmethod
    def write(stream: Stream, data: Iterable[Segment]) -> None:
        """Write segments as they come."""
        with ColumnWriter(stream, {"format": FORMAT}, compression=None) as writer:  # random bits do not get smaller
            for (counts, vectors), rows, text in data:
                dim = np.array([vectors.shape[1]])
                writer.write({"dim": dim, "counts": counts, "vectors": vectors.reshape(-1), "rows": rows, "text": text})


def in_segments(windows: Iterable[TokenVectors], indices: np.ndarray) -> Iterator[Segment]:
    """Yield the segments of a table as soon as the vectors of its different texts, in their order, are there.

    ``indices`` has the number of each row's text, integers of shape (rows,). Where a segment ends does not depend on how many
    texts come at once.
    """
    rows = np.argsort(indices, kind="stable").astype(np.int32)
    text = indices[rows].astype(np.int32)
    first = 0
    for texts in cut(windows, SEGMENT_TOKENS):
        stop = first + len(texts.counts)
        here = slice(*np.searchsorted(text, [first, stop]).tolist())
        yield Segment(texts, rows[here], text[here] - np.int32(first))
        first = stop


def read_segments(path: str | Path) -> Iterator[Segment]:
    """Yield the vectors of a table, segment by segment, in the order of the texts; the caller checks the digest of the file.

    Raises DataError if the file was damaged, or holds vectors that are not of length 1.
    """
    if not Path(path).stat().st_size:  # of a chunk without documents
        return
    names = ("dim", "counts", "vectors", "rows", "text")
    with reading(path, "the token vectors"):
        for columns in read_columns(path, {"format": FORMAT}, names):
            dim, counts, flat, rows, text = (columns[name].to_numpy() for name in names)
            segment = Segment(TokenVectors(counts, flat.reshape(-1, int(dim[0]))), rows, text)
            if problem := _problem(segment):
                raise damaged(path, problem)
            yield segment


def _problem(segment: Segment) -> str | None:
    (counts, vectors), rows, text = segment
    if (counts < 1).any() or counts.sum() != len(vectors):
        return f"found {len(vectors)} vectors, but counts of {counts.sum()}"
    if len(rows) != len(text) or not len(text) or text.min() < 0 or text.max() >= len(counts):
        return f"found {len(rows)} rows that have other texts than the {len(counts)} that are here"
    # Bits of float16 are in the order of integers, those of infinity and not-a-number last; the first says minus.
    positive, negative = vectors.view(np.int16).max(initial=0), vectors.view(np.uint16).max(initial=0)
    if positive > _BITS_OF_LONGEST or negative > _MINUS + _BITS_OF_LONGEST:
        return "found vectors that are not of length 1"
    return None


def in_rows(segments: Iterable[Segment], rows: int) -> TokenVectors:
    """Collect the vectors of a table that fits into memory, row by row.

    Raises ValueError if rows are missing, or more than there are.
    """
    parts = list(segments)
    order = np.concatenate([segment.rows for segment in parts] or [np.empty(0, np.int32)])
    if not np.array_equal(np.sort(order), np.arange(rows)):
        raise ValueError(f"found {len(order)} rows, expected {rows}")
    if not parts:
        return TokenVectors(np.empty(0, np.int64), np.empty((0, 1), np.float16))
    first = np.cumsum([0, *(len(segment.texts.counts) for segment in parts[:-1])])
    text = np.concatenate([segment.text + start for segment, start in zip(parts, first, strict=True)])
    return TokenVectors.together([segment.texts for segment in parts]).take(text[np.argsort(order)].astype(np.int64))
