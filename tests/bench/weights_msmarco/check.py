"""Compare some queries with brute force, and project what all chunks would take.

python -m bench.weights_msmarco.check INPUT OURS K CHUNKS THREADS
"""

import sys
from pathlib import Path

import numpy as np

from bench.child import report
from bench.search_weights.inputs import TERMS

QUERIES = 5
PROJECTED_CORES = 8


def main(source: Path, ours: Path, k: int, chunks: int, threads: int) -> None:
    """Compare, and say what was compared."""
    with np.load(source / "documents.npz") as found, np.load(source / "queries.npz") as asked, np.load(ours / "hits.npz") as hits:
        rows = np.repeat(np.arange(len(found["counts"]), dtype=np.int32), found["counts"])
        terms, weights = found["terms"], found["weights"]
        ends = np.cumsum(asked["counts"])
        for query in np.linspace(0, len(ends) - 1, QUERIES).astype(int).tolist():
            own = slice(ends[query] - asked["counts"][query], ends[query])
            factors = np.zeros(TERMS)
            factors[asked["terms"][own]] = asked["weights"][own]
            scores = np.bincount(rows, factors[terms] * weights, len(found["counts"])).astype(np.float32)
            best = np.sort(scores)[::-1][:k]
            here = hits["query"] == query
            if (
                not np.array_equal(hits["score"][here], best[best > 0])
                or (scores[hits["row"][here]] != hits["score"][here]).any()
            ):
                sys.exit(f"query {query} has other scores than brute force finds")
        seconds, postings = float(hits["seconds"]), len(terms)
    hours = seconds * chunks * threads / PROJECTED_CORES / 3600
    told = f"{chunks} chunks of {postings:,} weights would take {hours:.2f} hours of {PROJECTED_CORES} cores"
    report(agree=f"{QUERIES} queries are those of brute force; {told}, {seconds:.0f} s a chunk with {threads} threads here")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
