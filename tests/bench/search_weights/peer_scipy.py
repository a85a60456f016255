"""The peer scipy: the product of two sparse matrices in blocks of queries, and the top k of every row; both are in memory.

python -m bench.search_weights.peer_scipy INPUT OUTPUT K THREADS
"""

import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from bench.child import timed_call

BLOCK = 50
TERMS = 30_522


def read(path: Path) -> sp.csr_array:
    """Texts as rows."""
    with np.load(path) as found:
        starts = np.concatenate([[0], np.cumsum(found["counts"])])
        return sp.csr_array((found["weights"], found["terms"], starts), shape=(len(found["counts"]), TERMS))


def main(source: Path, output: Path, k: int) -> None:
    """Multiply and select; scipy has one thread."""
    queries, documents = read(source / "queries.npz"), sp.csr_array(read(source / "documents.npz").T)
    found = []
    with timed_call():
        for start in range(0, queries.shape[0], BLOCK):
            product = queries[start : start + BLOCK] @ documents
            for number in range(product.shape[0]):
                part = slice(product.indptr[number], product.indptr[number + 1])
                rows, scores = product.indices[part], product.data[part]
                if len(rows) > k:
                    best = np.argpartition(scores, len(scores) - k)[len(scores) - k :]
                    rows, scores = rows[best], scores[best]
                order = np.argsort(-scores)
                found.append((np.full(len(rows), start + number), rows[order], scores[order]))
    query, row, score = (np.concatenate(columns) for columns in zip(*found, strict=True))
    np.savez(output / "hits.npz", query=query, row=row, score=score)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
