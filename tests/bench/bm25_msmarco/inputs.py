"""Make a corpus of MS MARCO's size as ``prepare_corpus`` would have left it, chunk by chunk, and queries.

    python -m bench.bm25_msmarco.inputs FOLDER DOCUMENTS CHUNKS QUERIES WORDS

Passages have 56 words on average, and their lengths spread as those of ``prepare-msmarco``; three million different words make
about as many terms as MS MARCO has. What is drawn depends on the chunk alone, so that the check can draw it again.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from beir_writer import write_corpus_record
from beirflow.datasets.corpus_reader import DOCUMENTS

from bench.bm25.texts import Writer, words

MEAN, SIGMA, LONGEST = 56, 0.45, 300
FEWEST, MOST = 3, 8
"""Words of a query."""

_VOCABULARY, _QUERIES = 1 << 20, (1 << 20) + 1
"""Seeds that no chunk has."""


def vocabulary(size: int) -> list[str]:
    """The words."""
    return words(np.random.default_rng(_VOCABULARY), size)


def chunk_ids(documents: int, chunks: int, chunk: int) -> np.ndarray:
    """Ids of the documents of a chunk, as numbers."""
    return np.arange(chunk, documents, chunks)


def drawn(known: list[str], documents: int, chunks: int, chunk: int) -> tuple[Writer, np.ndarray, np.ndarray]:
    """Who writes a chunk, how many words its documents have, longest first, and the ranks of these words."""
    rng = np.random.default_rng(chunk)
    writer = Writer(rng, known)
    size = len(chunk_ids(documents, chunks, chunk))
    lengths = np.clip(rng.lognormal(np.log(MEAN) - SIGMA**2 / 2, SIGMA, size), 1, LONGEST).astype(int)
    lengths = -np.sort(-lengths)
    return writer, lengths, writer.draw(int(lengths.sum()))


def queries(known: list[str], count: int) -> pa.LargeStringArray:
    """Texts of queries."""
    rng = np.random.default_rng(_QUERIES)
    writer, lengths = Writer(rng, known), rng.integers(FEWEST, MOST + 1, count)
    return writer.write(writer.draw(int(lengths.sum())), lengths, plain=True)


def tables(known: list[str], documents: int, chunks: int) -> Iterator[pa.Table]:
    """The chunks."""
    for chunk in range(chunks):
        writer, lengths, ranks = drawn(known, documents, chunks, chunk)
        ids = pa.array(chunk_ids(documents, chunks, chunk)).cast(pa.string())
        yield pa.table([ids, writer.write(ranks, lengths), pa.array(np.zeros(len(ids), np.int32))], schema=DOCUMENTS)


def write(folder: Path, documents: int, chunks: int, asked: int, size: int) -> None:
    """Write the input."""
    folder.mkdir(parents=True)
    known = vocabulary(size)
    with pq.ParquetWriter(folder / "documents.parquet", DOCUMENTS, use_dictionary=False, write_page_checksum=True) as target:
        for table in tables(known, documents, chunks):
            target.write_table(table, row_group_size=len(table))
    names = [f"q{number}" for number in range(asked)]
    pq.write_table(pa.table({"query_id": names, "text": queries(known, asked)}), folder / "queries.parquet")
    write_corpus_record(folder, folder.parent)


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:]))
