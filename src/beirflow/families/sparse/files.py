"""Weights in memory, text by text, and on disk: those of queries text by text, those of a chunk as postings, term by term.

The postings of a chunk are segments, each of some consecutive documents: one is written as soon as it is large enough, and a
search reads one after the other. So memory holds a segment, however large a chunk is and however many terms its documents have.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from beirflow.core.artifact import Artifact, Stream
from beirflow.core.errors import ModelError
from beirflow.core.layout import QUERY_WEIGHTS, TERM_WEIGHTS
from beirflow.core.verified import damaged, reading
from beirflow.families.postings.columns import ColumnWriter, read_columns
from beirflow.families.segments import cut

LUCENE_SCALE = 256 / 5  # factor of weights before they are rounded to integers, in published runs with Lucene

FORMAT = b"beirflow term weights 2"

SEGMENT_POSTINGS = 1 << 23
"""Weights after which a segment ends, some 200 MB while it is written or searched; in fewer ones a search has less to begin."""

SEGMENT_DOCUMENTS = 1 << 16
"""Documents after which a segment ends, so that uint16 holds their rows: smaller on disk, and read in half the time."""

STORED = {"none": np.float32, "lucene": np.uint16}  # type of the weights, by how they are quantized


class Rows(NamedTuple):
    """The terms of n consecutive texts and their weights."""

    counts: np.ndarray  # terms of each text, int64 of shape (n,)
    terms: np.ndarray  # their numbers in the vocabulary, text after text and ascending inside a text, int32 of shape (m,)
    weights: np.ndarray  # their weights, above 0, float32 of shape (m,)

    @property
    def starts(self) -> np.ndarray:
        """Return the beginning of each text's terms, and their number, int64 of shape (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])

    @classmethod
    def of(cls, texts: int, text: np.ndarray, terms: np.ndarray, weights: np.ndarray) -> Self:
        """Sort weights by text and term: int64, int64 and float32, each of shape (m,); no text has a term twice."""
        order = np.argsort(text << 32 | terms)  # one sort of one number instead of two keys
        return cls(np.bincount(text, minlength=texts), terms[order].astype(np.int32), weights[order])

    def one(self, number: int) -> Self:
        """Return a copy of the text with a number."""
        part = slice(*self.starts[number : number + 2].tolist())
        return type(self)(self.counts[[number]], self.terms[part].copy(), self.weights[part].copy())

    @classmethod
    def together(cls, parts: Sequence["Rows"]) -> Self:
        """Concatenate the texts of several parts."""
        nothing = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
        return cls(*(np.concatenate(columns) for columns in zip(nothing, *parts, strict=True)))


def quantized(rows: Rows, quantize: str) -> Rows:
    """Return weights as they are stored, float32; ``lucene`` rounds them to integers, 256 for 5, and drops those that are 0."""
    if quantize == "none":
        return rows
    integers = np.rint(rows.weights.astype(np.float64) * LUCENE_SCALE)
    kept = integers > 0  # Lucene stores no frequency of 0
    text = np.repeat(np.arange(len(rows.counts)), rows.counts)[kept]
    return Rows(np.bincount(text, minlength=len(rows.counts)), rows.terms[kept], integers[kept].astype(np.float32))


class Segment(NamedTuple):
    """The postings of n consecutive documents with t different terms."""

    documents: int  # their number
    terms: np.ndarray  # the terms, ascending, int32 of shape (t,)
    starts: np.ndarray  # first posting of each term, and p, int64 of shape (t + 1,)
    rows: np.ndarray  # the document of each posting, from 0 in each segment, ascending inside a term, uint16 of shape (p,)
    weights: np.ndarray  # the weight of the term in it, above 0, float32 or uint16 of shape (p,)


def segments_of(windows: Iterable[Rows]) -> Iterator[Segment]:
    """Yield the segments of a chunk, at least one, from the weights of its documents; those of a few may come at once."""
    segment = None
    for rows in cut(windows, SEGMENT_POSTINGS, SEGMENT_DOCUMENTS):
        segment = _invert(rows)
        yield segment
    if segment is None:
        yield _invert(Rows.together([]))


def _stored(weights: np.ndarray, quantize: str) -> np.ndarray:
    """Return quantized weights in the type in which they are stored. Raises ModelError if one is too large for it."""
    largest = float(weights.max(initial=0))
    if quantize == "lucene" and largest > np.iinfo(np.uint16).max:
        problem = f"a weight is {largest:.0f} as an integer, beyond the range of Lucene's scale"
        raise ModelError(f"{problem}; use quantize: none")
    return weights.astype(STORED[quantize])


def _invert(rows: Rows) -> Segment:
    largest = int(rows.terms.max(initial=0))
    keys = rows.terms.astype(np.uint16) if largest <= np.iinfo(np.uint16).max else rows.terms  # short ones sort in linear time
    order = np.argsort(keys, kind="stable")
    documents = np.repeat(np.arange(len(rows.counts), dtype=np.uint16), rows.counts)
    frequencies = np.bincount(rows.terms, minlength=1)
    terms = np.flatnonzero(frequencies)
    starts = np.concatenate([[0], np.cumsum(frequencies[terms])])
    return Segment(len(rows.counts), terms.astype(np.int32), starts, documents[order], rows.weights[order])


def read_segments(path: str | Path, quantize: str) -> Iterator[Segment]:
    """Yield the segments of a chunk, in the order of the documents; the caller checks the digest of the file.

    Raises DataError if the file was damaged, or is quantized in another way.
    """
    names = ("documents", "terms", "frequencies", "rows", "weights")
    with reading(path, "the weights"):
        for columns in read_columns(path, _metadata("postings", quantize), names):
            documents, terms, frequencies, rows, weights = (columns[name].to_numpy() for name in names)
            starts = np.concatenate([[0], np.cumsum(frequencies, dtype=np.int64)])
            segment = Segment(int(documents[0]), terms, starts, np.cumsum(rows, dtype=np.uint16), weights)
            if problem := _problem(segment):
                raise damaged(path, problem)
            yield segment


def _problem(segment: Segment) -> str | None:
    if len(segment.starts) != len(segment.terms) + 1 or (np.diff(segment.starts) < 1).any():
        return "found terms without documents"
    if not segment.starts[-1] == len(segment.rows) == len(segment.weights):
        return f"found {len(segment.rows)} postings, but {len(segment.weights)} weights and frequencies of {segment.starts[-1]}"
    if len(segment.rows) and segment.rows.max() >= segment.documents:
        return f"found a posting of the row {segment.rows.max()} among {segment.documents} documents"
    if len(segment.weights) and not (segment.weights.min() > 0 and segment.weights.max() < np.inf):  # nor is a not-a-number
        return "found weights that are not above 0 and finite"
    return None


def read_queries(path: str | Path, quantize: str) -> Rows:
    """Read the weights of queries.

    Raises DataError if the file was damaged, or is quantized in another way.
    """
    with reading(path, "the weights"):
        (columns,) = read_columns(path, _metadata("queries", quantize), Rows._fields)
    rows = Rows(*(pa.Array.to_numpy(columns[name]) for name in Rows._fields))
    if not rows.starts[-1] == len(rows.terms) == len(rows.weights):
        raise damaged(path, f"found {len(rows.terms)} terms and {len(rows.weights)} weights, but counts of {rows.starts[-1]}")
    return rows


class QueryWeights(Artifact):
    """The weights of queries on disk, as :func:`read_queries` reads them."""

    pattern = QUERY_WEIGHTS
    large = represents = True

    @staticmethod
    def write(stream: Stream, data: tuple[Iterable[Rows], str]) -> None:
        """Write quantized weights, all at once, and how they are quantized."""
        windows, quantize = data
        with ColumnWriter(stream, _metadata("queries", quantize)) as writer:
            writer.write(Rows.together(list(windows))._asdict())


class ChunkWeights(Artifact):
    """The weights of a chunk on disk, as :func:`read_segments` reads them."""

    pattern = TERM_WEIGHTS
    large = represents = True

    @staticmethod
    def write(stream: Stream, data: tuple[Iterable[Rows], str]) -> None:
        """Write quantized weights as they come, and how they are quantized. Raises ModelError if one is too large."""
        windows, quantize = data
        with ColumnWriter(stream, _metadata("postings", quantize)) as writer:
            for segment in segments_of(windows):
                columns = {
                    "documents": np.array([segment.documents]),
                    "terms": segment.terms,
                    "frequencies": np.diff(segment.starts).astype(np.int32),
                    "rows": np.diff(segment.rows, prepend=np.uint16(0)),  # modulo 2 ** 16, as their sums when they are read
                    "weights": _stored(segment.weights, quantize),
                }
                writer.write(columns)


def _metadata(what: str, quantize: str) -> dict[str, bytes | str]:
    return {"format": FORMAT, "what": what, "quantize": quantize}
