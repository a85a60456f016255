"""The peer bm25s with numba: its retrieval from a matrix of scores that is in memory, here that of the documents' weights.

python -m bench.search_weights.peer_bm25s INPUT OUTPUT K THREADS

It has no weights of queries, so it adds the same lists up, each with the weight 1. Its functions are compiled before the time
begins.
"""

import sys
from pathlib import Path

import bm25s
import numba
import numpy as np

from bench.child import timed_call
from bench.search_weights.peer_scipy import TERMS, read

WARM_UP = 2
"""Queries with which functions are compiled."""


def main(source: Path, output: Path, k: int, threads: int) -> None:
    """Retrieve."""
    numba.set_num_threads(threads)
    queries, documents = read(source / "queries.npz"), read(source / "documents.npz").tocsc()
    searcher = bm25s.BM25(backend="numba")
    matrix = {"data": documents.data, "indices": documents.indices, "indptr": documents.indptr}
    searcher.scores = {**matrix, "num_docs": documents.shape[0]}
    searcher.vocab_dict, searcher.nonoccurrence_array = {str(term): term for term in range(TERMS)}, None
    searcher.unique_token_ids_set = set(range(TERMS))
    searcher.activate_numba_scorer()
    tokens = [part.tolist() for part in np.split(queries.indices, queries.indptr[1:-1])]
    searcher.retrieve(tokens[:WARM_UP], k=k, n_threads=threads, show_progress=False)
    with timed_call():
        rows, scores = searcher.retrieve(tokens, k=k, n_threads=threads, show_progress=False)
    np.savez(output / "hits.npz", row=rows, score=scores)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
