"""Make weights of terms for documents and queries; terms are drawn by a flattened law of Zipf.

python -m bench.search_weights.inputs FOLDER DOCUMENTS QUERIES
"""

import sys
from pathlib import Path

import numpy as np
from beirflow.files.writing import DigestingWriter
from beirflow.sparse.files import Rows, SegmentWriter

TERMS, OF_A_DOCUMENT, OF_A_QUERY = 30_522, 150, 40
FLATTENED, EXPONENT = 50, 0.9
LARGEST = 3
BLOCK = 50_000
"""Documents that are drawn at a time."""


def weights(rng: np.random.Generator, texts: int, terms: int) -> Rows:
    """About as many terms a text, each with a weight."""
    shares = np.cumsum((np.arange(TERMS) + FLATTENED) ** -EXPONENT)
    drawn = np.searchsorted(shares / shares[-1], rng.random(texts * terms)).clip(max=TERMS - 1)
    pairs = np.unique(np.repeat(np.arange(texts), terms) << 32 | drawn)
    return Rows.of(texts, pairs >> 32, pairs & 0xFFFFFFFF, rng.random(len(pairs), np.float32) * LARGEST + np.float32(1e-3))


def write(folder: Path, documents: int, queries: int) -> None:
    """Write the documents as postings for ours and as plain arrays for the peer, and the queries."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng((documents, queries))
    blocks = []
    with DigestingWriter(folder / "weights.arrow") as stream, SegmentWriter(stream, "none") as writer:
        for first in range(0, documents, BLOCK):
            blocks.append(weights(rng, min(BLOCK, documents - first), OF_A_DOCUMENT))
            writer.add(blocks[-1])
    np.savez(folder / "documents.npz", **Rows.together(blocks)._asdict())
    np.savez(folder / "queries.npz", **weights(rng, queries, OF_A_QUERY)._asdict())


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
