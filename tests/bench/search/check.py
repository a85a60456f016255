"""Compare our ranking with brute force in float64, and our scores with those of the peers.

python -m bench.search.check INPUT K OURS PEER...
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from bench.child import report

QUERY_BLOCK = 50
TOLERANCE = 1e-5
"""Of scores that were summed in float32."""


def brute_force(source: Path, k: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """For each query rows and scores of the first k: score in float64 rounded to float32, then id descending in byte order."""
    queries, documents = (np.load(source / name).astype(np.float64) for name in ("queries.npy", "chunk.npy"))
    ids = [doc_id.encode() for doc_id in pq.read_table(source / "documents.parquet")["doc_id"].to_pylist()]
    place = np.empty(len(ids), np.int64)
    place[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    for start in range(0, len(queries), QUERY_BLOCK):
        for number, scores in enumerate((queries[start : start + QUERY_BLOCK] @ documents.T).astype(np.float32), start):
            rows = np.flatnonzero(scores >= np.partition(scores, -k)[-k])
            rows = rows[np.lexsort((-place[rows], -scores[rows]))]
            yield number, rows, scores[rows]


def main(source: Path, k: int, ours: Path, peers: list[Path]) -> None:
    """Compare, and say what was compared."""
    with np.load(ours / "candidates.npz") as found:
        rows, scores = (found[name].reshape(-1, k) for name in ("row", "score"))
    tied = 0
    for query, expected, exact in brute_force(source, k):
        tied += len(expected) > k
        if not (np.array_equal(rows[query], expected[:k]) and np.array_equal(scores[query], exact[:k])):
            sys.exit(f"query {query}: our ranking is not that of brute force in float64")
    for peer in peers:
        with np.load(peer / "hits.npz") as found:
            difference = np.abs(found["score"] - scores).max()
        if not difference <= TOLERANCE:
            sys.exit(f"scores differ from those in {peer} by {difference:.2g}")
    report(agree=f"rankings of {len(rows)} queries are those of brute force, {tied} with a tie at the cut; scores within 1e-5")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), [Path(peer) for peer in sys.argv[4:]])
