"""Our side: search the postings of a file; or, as the peers do, postings that are in memory before the time begins.

python -m bench.search_weights.ours INPUT OUTPUT K THREADS file
python -m bench.search_weights.ours INPUT OUTPUT K THREADS memory
"""

import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from beirflow.files.background import read_ahead
from beirflow.sparse.files import Rows, read_segments
from beirflow.sparse.search import Backward, search_segments, turned_round

from bench.child import timed_call


def main(source: Path, output: Path, k: int, threads: int, *, reads: bool) -> None:
    """Read and search."""
    with np.load(source / "queries.npz") as found:
        queries = Rows(**found)
    with np.load(source / "documents.npz") as found:
        ids = pa.array([f"d{number}" for number in range(len(found["counts"]))])
    read = read_segments(source / "weights.arrow", "none")
    segments = turned_round(read_ahead(read), threads) if reads else list(map(Backward.of, read))
    start = time.perf_counter()
    with timed_call():
        excluded = np.full(len(queries.counts), -1)
        hits, _ = search_segments(queries, segments, ids, k, excluded=excluded, threads=threads)
    seconds = time.perf_counter() - start
    np.savez(output / "hits.npz", query=hits[0], row=hits[1], score=hits[2], seconds=seconds)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), reads=sys.argv[5] == "file")
