"""What the machine can do at best: the products of the same matrices in float32, in large blocks, and nothing else.

python -m bench.search_tokens.product INPUT OUTPUT K THREADS
"""

import sys
from pathlib import Path

import numpy as np
import torch

from bench.child import timed_call

ROWS = 4096


def main(source: Path, threads: int) -> None:
    """Multiply; the results are thrown away."""
    torch.set_num_threads(threads)
    with np.load(source / "queries.npz") as queries, np.load(source / "documents.npz") as documents:
        columns, rows = (torch.from_numpy(found["vectors"]).float() for found in (queries, documents))
    result = torch.empty(ROWS, len(columns))
    with timed_call(), torch.inference_mode():
        for block in rows.split(ROWS):
            torch.mm(block, columns.T, out=result[: len(block)])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[4]))
