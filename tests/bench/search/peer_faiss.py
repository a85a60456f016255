"""The peer faiss: read the same vectors, add them to an IndexFlatIP, search.

python -m bench.search.peer_faiss INPUT OUTPUT K THREADS
"""

import sys
from pathlib import Path

import faiss
import numpy as np

from bench.child import timed_call

if __name__ == "__main__":
    source, output, k, threads = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    faiss.omp_set_num_threads(threads)
    with timed_call():
        documents = np.load(source / "chunk.npy")
        index = faiss.IndexFlatIP(documents.shape[1])
        index.add(documents)
        scores, rows = index.search(np.load(source / "queries.npy"), k)
    np.savez(output / "hits.npz", row=rows, score=scores)
