"""Compare the runs of few and of many chunks, byte by byte, and some queries with brute force over all their candidates.

python -m bench.merge.check INPUT K FEW MANY
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from beirflow.files.digests import file_digest

from bench.child import report

SAMPLE = 20

Ranked = list[tuple[str, float]]
"""Document ids and scores of a query, best first."""


def brute_force(source: Path, sample: np.ndarray, k: int) -> list[Ranked]:
    """The k best of some queries: all candidates, sorted as the ranking rule reads."""
    doc_ids = pq.read_table(source / "documents.parquet", columns=["doc_id"])["doc_id"]
    chunks = int(source.name)
    size = len(doc_ids) // chunks
    found: list[Ranked] = [[] for _ in sample]
    for chunk in range(chunks):
        ids = doc_ids.slice(chunk * size, size).to_numpy()
        with np.load(source / f"chunk-{chunk}.npz") as candidates:
            query, row, score = (candidates[name] for name in ("query", "row", "score"))
        for number, wanted in enumerate(sample):
            here = slice(*np.searchsorted(query, [wanted, wanted + 1]))
            found[number] += zip(ids[row[here]], score[here].tolist(), strict=True)
    return [sorted(ranked, key=lambda hit: (hit[1], hit[0].encode()), reverse=True)[:k] for ranked in found]


def main(source: Path, k: int, few: Path, many: Path) -> None:
    """Compare, and say what was compared."""
    if file_digest(few / "run.parquet") != file_digest(many / "run.parquet"):
        sys.exit("the run of few chunks is not that of many")
    run = pq.read_table(many / "run.parquet")
    names = pq.read_table(source / "queries.parquet")["query_id"].to_pylist()
    if run.num_rows != k * len(names):
        sys.exit(f"{run.num_rows} rows, expected {k} for each of {len(names)} queries")
    sample = np.linspace(0, len(names) - 1, min(SAMPLE, len(names))).astype(int)
    for number, expected in zip(sample.tolist(), brute_force(source, sample, k), strict=True):
        part = run.slice(number * k, k).to_pydict()
        ranked = list(zip(part["doc_id"], part["score"], strict=True))
        if (set(part["query_id"]), part["rank"], ranked) != ({names[number]}, list(range(1, k + 1)), expected):
            sys.exit(f"query {names[number]} has another ranking than by brute force")
    report(
        agree=f"{run.num_rows:,} rows, the same bytes from few chunks and many; {len(sample)} queries are those of brute force"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
