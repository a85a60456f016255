"""Make token vectors of documents and queries: random, of length 1, in float16.

python -m bench.search_tokens.inputs FOLDER DOCUMENTS QUERIES
"""

import sys
from pathlib import Path

import numpy as np
from beirflow.files.writing import DigestingWriter
from beirflow.late.vectors import SegmentWriter, TokenVectors

DIM, OF_A_QUERY, MEAN, SPREAD, LONGEST = 128, 32, 5.0, 0.5, 300
"""Lengths of documents are those of texts: most are short, few are cut."""


def vectors(rng: np.random.Generator, counts: np.ndarray) -> TokenVectors:
    """Vectors of texts of these lengths."""
    found = rng.standard_normal((int(counts.sum()), DIM), np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return TokenVectors(counts.astype(np.int64), found.astype(np.float16))


def write(folder: Path, documents: int, queries: int) -> None:
    """Write the documents as a chunk for ours and as plain arrays for the peers, and the queries; longest documents first."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng((documents, queries))
    lengths = np.sort(rng.lognormal(MEAN, SPREAD, documents).clip(8, LONGEST).astype(np.int64))[::-1]
    found = vectors(rng, lengths)
    with DigestingWriter(folder / "chunk.arrow") as stream, SegmentWriter(stream, np.arange(documents)) as writer:
        writer.add(found)
    np.savez(folder / "documents.npz", **found._asdict())
    np.savez(folder / "queries.npz", **vectors(rng, np.full(queries, OF_A_QUERY))._asdict())


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
