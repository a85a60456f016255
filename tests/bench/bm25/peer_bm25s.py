"""The peer bm25s with numba, all in memory: tokenise and index texts; or tokenise queries and retrieve.

    python -m bench.bm25.peer_bm25s index INPUT OUTPUT THREADS
    python -m bench.bm25.peer_bm25s search INPUT INDEX OUTPUT K THREADS

It is another BM25 than Lucene's: words are those of a regular expression, nothing is stemmed, lengths are exact. Its functions
are compiled before the time begins.
"""

import sys
from pathlib import Path

import bm25s
import numba
import numpy as np
import pyarrow.parquet as pq

from bench.child import timed_call

WARM_UP = 2
"""Queries with which functions are compiled."""


def tokenize(texts: list[str]) -> bm25s.tokenization.Tokenized:
    """As its own documentation does."""
    return bm25s.tokenize(texts, stopwords="en", show_progress=False)


def index(source: Path, output: Path, threads: int) -> None:
    """Index."""
    numba.set_num_threads(threads)
    texts = pq.read_table(source / "documents.parquet")["text"].to_pylist()
    _indexed(texts[-WARM_UP:])
    with timed_call():
        made = _indexed(texts)
    made.save(output, show_progress=False)


def _indexed(texts: list[str]) -> bm25s.BM25:
    made = bm25s.BM25(method="lucene", k1=0.9, b=0.4, backend="numba")
    made.index(tokenize(texts), show_progress=False)
    return made


def search(source: Path, made: Path, output: Path, k: int, threads: int) -> None:
    """Retrieve."""
    numba.set_num_threads(threads)
    queries = pq.read_table(source / "queries.parquet")["text"].to_pylist()
    searcher = bm25s.BM25.load(made)
    searcher.backend = "numba"
    searcher.activate_numba_scorer()
    searcher.retrieve(tokenize(queries[:WARM_UP]), k=k, n_threads=threads, show_progress=False)
    with timed_call():
        rows, scores = searcher.retrieve(tokenize(queries), k=k, n_threads=threads, show_progress=False)
    np.savez(output / "hits.npz", row=rows, score=scores)


if __name__ == "__main__":
    if sys.argv[1] == "index":
        index(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
    else:
        search(*map(Path, sys.argv[2:5]), *map(int, sys.argv[5:]))
