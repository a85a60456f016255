"""Documents of a corpus in batches of columns, parsed in several threads.

Arrow's parser reads a block of lines many times faster than one line at a time, but says less of what is wrong, and of some
things nothing. So a block counts as read only where it can have but one meaning; any other is read again line by line, by
:func:`~beirflow.data.sources.beir_files.documents_in`, which decides.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from beirflow.core.background import map_ahead
from beirflow.data.document_text import join_title_and_text
from beirflow.data.sources.beir_files import documents_in
from beirflow.data.sources.source import CORPUS, Block, DatasetSource

DOCUMENTS = pa.schema([("doc_id", pa.string()), ("text", pa.large_string()), ("title_bytes", pa.int32())])
"""Columns of a corpus: ids, titles joined with texts, and how many bytes of each are the title."""
FIELDS = pa.schema([("_id", pa.string()), ("title", pa.string()), ("text", pa.string())])

BRACKETS = 1000
"""In a line with more it is not known how deep they nest, and the fast parser's stack does not survive every depth."""

SAMPLES = 4  # places of a text, eight bytes each, that its fingerprint is made of


class DocumentBatch(NamedTuple):
    """Consecutive documents of a corpus."""

    lines: np.ndarray  # line numbers, int64 of shape (n,)
    documents: pa.RecordBatch  # n rows of ``DOCUMENTS``
    characters: np.ndarray  # lengths of the texts in characters, int64 of shape (n,)
    sizes: np.ndarray  # lengths of the texts in bytes, int64 of shape (n,)
    fingerprints: np.ndarray  # equal for equal texts, uint64 of shape (n,); different texts may share one


def read_batches(source: DatasetSource, threads: int) -> Iterator[DocumentBatch]:
    """Yield the documents of ``corpus.jsonl`` in the order of the file, in batches that are not empty.

    ``threads`` blocks are parsed at the same time. Raises DataError if a line is not a document; see
    :func:`~beirflow.data.sources.beir_files.documents_in`.
    """
    for batch in map_ahead(partial(_read_block, source), source.blocks(CORPUS), threads):
        if len(batch.lines):
            yield batch


def _read_block(source: DatasetSource, numbered_block: Block) -> DocumentBatch:
    numbers, block = numbered_block
    lines, documents = _parse_fast(numbers, block) or _parse_with_care(source, numbers, block)
    texts = documents["text"]
    lengths = (pc.utf8_length(texts), pc.binary_length(texts))
    characters, sizes = (length.to_numpy().astype(np.int64) for length in lengths)
    return DocumentBatch(lines, documents, characters, sizes, fingerprint(texts))


def _parse_with_care(source: DatasetSource, numbers: Sequence[int], block: bytes) -> tuple[np.ndarray, pa.RecordBatch]:
    rows = list(documents_in(source, numbers, block))
    types = (pa.int64(), pa.string(), pa.large_string(), pa.large_string())
    lines, ids, titles, texts = (pa.array([row[i] for row in rows], kind) for i, kind in enumerate(types))
    return lines.to_numpy(), _documents(ids, titles, texts)


def _parse_fast(numbers: Sequence[int], block: bytes) -> tuple[np.ndarray, pa.RecordBatch] | None:
    """Return line numbers and documents of a block; None where it must be read with care."""
    if not _is_one_object_a_line(block) or not _is_utf8(block):
        return None
    # A single block, because Arrow would cut lines at the end of each.
    reading = pa.json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    parsing = pa.json.ParseOptions(explicit_schema=FIELDS, newlines_in_values=False, unexpected_field_behavior="ignore")
    try:
        table = pa.json.read_json(pa.BufferReader(block), reading, parsing)
    except pa.ArrowInvalid:
        return None
    ids, titles, texts = (column.combine_chunks() for column in table.columns)
    if len(ids) != len(numbers) or ids.null_count or texts.null_count or pc.any(pc.equal(ids, "")).as_py():
        return None
    titles, texts = (column.cast(pa.large_string()) for column in (titles, texts))
    return np.fromiter(numbers, np.int64, len(numbers)), _documents(ids, titles, texts)


def _documents(ids: pa.Array, titles: pa.Array, texts: pa.Array) -> pa.RecordBatch:
    title_bytes = pc.fill_null(pc.binary_length(titles), 0).cast(pa.int32())
    return pa.record_batch([ids, join_title_and_text(titles, texts), title_bytes], schema=DOCUMENTS)


def _is_one_object_a_line(block: bytes) -> bool:
    """Test whether every line begins and ends as an object does, and nothing follows an object that breaks the fast parser.

    No string holds a line feed. So where a brace closes before each and one opens after it, each line is one object or several.
    """
    data = np.frombuffer(block, np.uint8)[: len(block) - block.endswith(b"\n")]
    feeds = np.flatnonzero(data == ord("\n"))
    edges = np.concatenate([[-1], feeds, [len(data)]])
    lengths = np.diff(edges) - 1
    if lengths.min() < len("{}"):
        return False
    if (data[edges[:-1] + 1] != ord("{")).any() or (data[edges[1:] - 1] != ord("}")).any():
        return False
    opening = np.flatnonzero(data & 0xDF == ord("["))  # one bit is all that tells the two brackets apart
    if np.diff(np.searchsorted(opening, edges)).max() > BRACKETS:
        return False
    closing = np.flatnonzero(data[:-1] == ord("}"))
    followed_by = data[closing + 1]
    suspects = closing[np.isin(followed_by, np.frombuffer(b" \t\rn", np.uint8))]
    return not any(block[place + 1 : place + 100].lstrip(b" \t\r")[:4] in (b"null", b"") for place in suspects.tolist())


def _is_utf8(block: bytes) -> bool:
    if block.isascii():
        return True
    offsets = pa.py_buffer(np.array([0, len(block)], dtype=np.int64))
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(block)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def fingerprint(texts: pa.Array) -> np.ndarray:
    """Return a uint64 for each of n texts, large_string, from its length and a few of its bytes; equal for equal texts.

    It reads a few bytes instead of all, so it is fast; a caller that needs certainty must compare texts that share a number.
    """
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    starts, lengths = bounds[:-1], np.diff(bounds)
    padded = np.frombuffer(data or b"", np.uint8)
    if len(padded) < starts.max(initial=0) + 8:  # or it need not be copied
        padded = np.append(padded, np.zeros(8, np.uint8))
    eight_bytes_at = np.ndarray(len(padded) - 7, np.dtype("<u8"), padded, strides=(1,))
    numbers = lengths.astype(np.uint64)
    shortest = np.uint64(8) * np.minimum(lengths, 8).astype(np.uint64)
    mask = np.where(lengths >= 8, ~np.uint64(0), (np.uint64(1) << (shortest % np.uint64(64))) - np.uint64(1))
    for sample in range(SAMPLES):
        numbers ^= eight_bytes_at[starts + np.maximum(lengths - 8, 0) * sample // (SAMPLES - 1)] & mask
        # 2^64 by the golden ratio spreads differences over all bits.
        numbers *= np.uint64(0x9E3779B97F4A7C15)
        numbers ^= numbers >> np.uint64(29)
    return numbers
