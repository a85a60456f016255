"""Compare what prepare wrote with the corpus: every text under its id, sorted by length, dealt to the chunks in turn.

python -m bench.msmarco.check INPUT OURS CHUNKS
"""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from bench.child import report


def read_corpus(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Lengths and hashes of the texts, by id, which is the number of the line."""
    lengths, hashes = [], []
    with path.open() as lines:
        for number, line in enumerate(lines):
            document = json.loads(line)
            if document["_id"] != str(number):
                sys.exit(f"line {number} has the id {document['_id']}")
            lengths.append(len(document["text"]))
            hashes.append(hash(document["text"]))
    return np.array(lengths), np.array(hashes)


def expected_chunks(lengths: np.ndarray, hashes: np.ndarray, chunks: int) -> tuple[np.ndarray, np.ndarray]:
    """Place of each document, longest first and then by id in byte order, and its chunk: distinct texts go round in turn."""
    names = np.arange(len(lengths)).astype("S")
    order = np.lexsort((names, -lengths))
    place = np.argsort(order)
    _, first, text = np.unique(hashes[order], return_index=True, return_inverse=True)
    turn = np.argsort(np.argsort(first))
    return place, (turn[text] % chunks)[place]


def main(corpus: Path, ours: Path, chunks: int) -> None:
    """Compare, and say what was compared."""
    lengths, hashes = read_corpus(corpus / "corpus.jsonl")
    place, chunk_of = expected_chunks(lengths, hashes, chunks)
    file = pq.ParquetFile(ours / "documents.parquet")
    if (file.num_row_groups, file.metadata.num_rows) != (chunks, len(lengths)):
        sys.exit(f"{file.metadata.num_rows} documents in {file.num_row_groups} chunks, expected {len(lengths)} in {chunks}")
    for chunk in range(chunks):
        table = file.read_row_group(chunk)
        ids = np.array(table["doc_id"].to_pylist(), dtype=int)
        expected = np.flatnonzero(chunk_of == chunk)
        if not np.array_equal(ids, expected[np.argsort(place[expected])]):
            sys.exit(f"chunk {chunk} does not hold every {chunks}th document in order of length")
        if not np.array_equal([hash(text) for text in table["text"].to_pylist()], hashes[ids]):
            sys.exit(f"chunk {chunk} holds other texts than the corpus")
    distinct = len(np.unique(hashes))
    report(agree=f"{len(lengths):,} documents, {distinct:,} distinct texts: each in its chunk, at its place, with its text")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
