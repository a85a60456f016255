"""Our side: search the token vectors of a file.

python -m bench.search_tokens.ours INPUT OUTPUT K THREADS
"""

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from beirflow.late.search import exact_top_k
from beirflow.late.vectors import TokenVectors, read_segments
from beirflow.runs.ranking import byte_order

from bench.child import timed_call


def main(source: Path, output: Path, k: int, threads: int) -> None:
    """Read and search."""
    torch.set_num_threads(threads)
    with np.load(source / "queries.npz") as found:
        queries = TokenVectors(**found)
    with np.load(source / "documents.npz") as found:
        ids = byte_order(pa.array([f"d{number}" for number in range(len(found["counts"]))]))
    excluded, segments = np.full(len(queries.counts), -1), partial(read_segments, source / "chunk.arrow")
    with timed_call():
        hits = exact_top_k(queries, segments, ids, k, excluded=excluded, device=torch.device("cpu"))
    np.savez(output / "hits.npz", query=hits[0], row=hits[1], score=hits[2])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
