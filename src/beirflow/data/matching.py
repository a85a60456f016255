"""Find the texts that two corpora share, so that one vector serves both.

Memory is bounded by some tens of bytes a document: of the texts themselves, a batch at a time is read.
"""

import hashlib
import logging
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.core.progress import Progress
from beirflow.core.writing import atomic_path
from beirflow.data.corpus_files import Documents, recorded_digest

logger = logging.getLogger(__name__)

SHARED = pa.schema([("chunk", pa.int32()), ("row", pa.int32())])
BATCH_DOCUMENTS = 20_000

KEY_BYTES = 16
"""Size of the digest of a text. With 8, two different texts among ten million would be equal once in 300,000 times."""


def match_texts(*, documents_path: str, other_path: str, output_path: str) -> None:
    """Find, for every document of a corpus, a document of another corpus that has the same text.

    Args:
        documents_path: ``documents.parquet`` of the corpus, next to its ``corpus.json``.
        other_path: The same of the other corpus.
        output_path: Parquet to write, with the row groups and rows of the corpus: ``chunk``, int32, the chunk of the other corpus
            that has the text, or -1 if none has; and ``row``, int32, the first row there that has it, or -1. The metadata of its
            schema hold the sha256 of both corpora, as ``documents`` and ``other``.

    Raises:
        DataError: A corpus was changed after it was written.
    """
    digests = {"documents": recorded_digest(documents_path), "other": recorded_digest(other_path)}
    matched = rows = 0
    with Documents(documents_path) as documents, Documents(other_path) as other:
        total = sum(documents.sizes) + sum(other.sizes)
        with (
            Progress("compare texts", total, "texts") as progress,
            atomic_path(output_path) as partial,
            pq.ParquetWriter(partial, SHARED.with_metadata(digests), compression="zstd", write_page_checksum=True) as writer,
        ):
            parts = [_text_keys(other, chunk, progress) for chunk in range(len(other.sizes))]
            known, first = np.unique(np.concatenate(parts), return_index=True)  # the first of equal texts
            for chunk in range(len(documents.sizes)):
                table = _places(_text_keys(documents, chunk, progress), known, first, other.sizes)
                writer.write_table(table, row_group_size=max(1, table.num_rows))
                matched += int((table["chunk"].to_numpy() >= 0).sum())
                rows += table.num_rows
    name, other_name = (Path(path).parent.name for path in (documents_path, other_path))
    logger.info("%s has the texts of %d of the %d documents of %s", other_name, matched, rows, name)


def _places(keys: np.ndarray, known: np.ndarray, first: np.ndarray, sizes: list[int]) -> pa.Table:
    """Return ``chunk`` and ``row``, int32, of n texts by their digests of 16 bytes; both -1 for a text that is not there.

    ``known`` are the sorted digests of a corpus with chunks of some ``sizes``, and ``first`` the row of each.
    """
    columns = np.full((2, len(keys)), -1, dtype=np.int32)
    place = np.searchsorted(known, keys)
    found = place < len(known)
    found[found] = known[place[found]] == keys[found]
    row, ends = first[place[found]], np.cumsum(sizes)
    chunk = np.searchsorted(ends, row, side="right")
    columns[:, found] = chunk, row - (ends - sizes)[chunk]
    return pa.Table.from_arrays([pa.array(column) for column in columns], schema=SHARED)


def _text_keys(file: Documents, chunk: int, progress: Progress) -> np.ndarray:
    """Return the digests of the texts of one row group, as bytes of fixed length, of shape (rows,)."""
    digests = list[bytes]()
    for batch in file.batches(chunk, ["text"], BATCH_DOCUMENTS):
        texts = batch["text"].cast(pa.large_binary()).to_numpy(zero_copy_only=False)
        digests.append(b"".join(hashlib.blake2b(text, digest_size=KEY_BYTES).digest() for text in texts))
        progress.advance(len(texts))
    # Numpy ignores zeros at the end of such bytes, which makes no two digests of one length equal.
    return np.frombuffer(b"".join(digests), dtype=f"S{KEY_BYTES}")
