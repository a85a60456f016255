"""The peer sentence-transformers: its maxsim of all queries and documents in float32, and torch's top k; all are in memory.

python -m bench.search_tokens.peer_maxsim INPUT OUTPUT K THREADS
"""

import sys
from pathlib import Path

import numpy as np
import torch
from sentence_transformers.util.similarity import maxsim

from bench.child import timed_call


def read(path: Path) -> list[torch.Tensor]:
    """One matrix a text."""
    with np.load(path) as found:
        return list(torch.from_numpy(found["vectors"]).float().split(found["counts"].tolist()))


def main(source: Path, output: Path, k: int, threads: int) -> None:
    """Score and select."""
    torch.set_num_threads(threads)
    queries, documents = read(source / "queries.npz"), read(source / "documents.npz")
    with timed_call(), torch.inference_mode():
        scores, rows = maxsim(queries, documents).topk(k, dim=1)
    query = np.repeat(np.arange(len(queries)), k)
    np.savez(output / "hits.npz", query=query, row=rows.numpy().reshape(-1), score=scores.numpy().reshape(-1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
