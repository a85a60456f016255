"""Documents of a corpus in batches of columns."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.background import map_ahead
from beirflow.data.document_text import joined_text
from beirflow.data.sources.beir_files import documents_in
from beirflow.data.sources.source import CORPUS, Block, DatasetSource

DOCUMENTS = pa.schema([("doc_id", pa.string()), ("text", pa.large_string()), ("title_bytes", pa.int32())])
"""Columns of a corpus: ids, titles joined with texts, and how many bytes of each are the title."""


class DocumentBatch(NamedTuple):
    """Consecutive documents of a corpus."""

    lines: np.ndarray  # line numbers, int64 of shape (n,)
    documents: pa.RecordBatch  # n rows of ``DOCUMENTS``
    characters: np.ndarray  # lengths of the texts in characters, int64 of shape (n,)
    sizes: np.ndarray  # lengths of the texts in bytes, int64 of shape (n,)
    fingerprints: np.ndarray  # equal for equal texts of this process, int64 of shape (n,); different texts may share one


def read_batches(source: DatasetSource) -> Iterator[DocumentBatch]:
    """Yield the documents of ``corpus.jsonl`` in the order of the file, in batches that are not empty.

    Raises DataError if a line is not a document; see :func:`~beirflow.data.sources.beir_files.documents_in`.
    """
    for batch in map_ahead(partial(_read_block, source), source.blocks(CORPUS)):
        if len(batch.lines):
            yield batch


def _read_block(source: DatasetSource, block: Block) -> DocumentBatch:
    lines: list[int] = []
    ids, joined, title_bytes = [], [], []
    # A list of tuples would make Python look through all of them for garbage, which takes a third of the time.
    for line, doc_id, title, text in documents_in(source, *block):
        lines.append(line)
        ids.append(doc_id)
        joined.append(joined_text(title, text))
        title_bytes.append(len(title.encode()) if title else 0)
    arrays = [pa.array(column, kind) for column, kind in zip((ids, joined, title_bytes), DOCUMENTS.types, strict=True)]
    sizes = pc.binary_length(arrays[1]).to_numpy().astype(np.int64)
    characters, fingerprints = (np.fromiter(map(function, joined), np.int64, len(joined)) for function in (len, hash))
    documents = pa.record_batch(arrays, schema=DOCUMENTS)
    return DocumentBatch(np.array(lines, np.int64), documents, characters, sizes, fingerprints)
