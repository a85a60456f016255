"""Make a run and graded judgements.

    python -m bench.evaluate.inputs FOLDER QUERIES HITS

Of the judged documents of a query some are retrieved, more often near the top, and some are not; most of what is retrieved is
judged for no query. One query in a hundred has no hit. Every query has a relevant document, without which beir's capped recall
divides by zero; no two scores of a query are equal, because beir's own measures leave the order of ties to chance.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from beirflow.runs.run_file import RUN

DOCUMENTS = 500_000
JUDGED_MEAN = 40


def query_rows(rng: np.random.Generator, hits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Retrieved documents, best first; judged documents; their grades."""
    retrieved = rng.choice(DOCUMENTS, hits, replace=False)
    count = int(rng.geometric(1 / JUDGED_MEAN))
    inside = np.unique((hits * rng.random(count) ** 3).astype(np.int64))
    outside = np.setdiff1d(rng.choice(DOCUMENTS, 1 + count // 3, replace=False), retrieved)
    judged = np.concatenate([retrieved[inside], outside])
    grades = rng.choice([-1, 0, 1, 2, 3], len(judged), p=[0.02, 0.38, 0.4, 0.15, 0.05])
    grades[rng.integers(len(judged))] = 1 + rng.integers(3)
    return retrieved, judged, grades


def scores(rng: np.random.Generator, count: int) -> np.ndarray:
    """Different scores in descending order, float32."""
    steps = rng.integers(1, 1000, count)
    return ((2**24 - np.cumsum(steps)) / 2**24).astype(np.float32)


def write(folder: Path, queries: int, hits: int) -> None:
    """Write run.parquet and qrels.parquet as beirflow does: in byte order of the queries."""
    rng = np.random.default_rng((queries, hits))
    folder.mkdir(parents=True)
    runs: list[pa.Table] = []
    qrels: list[pa.Table] = []
    for query_id in (f"query-{number:05}" for number in range(queries)):
        retrieved, judged, grades = query_rows(rng, hits)
        doc_ids = pa.array([f"doc-{number}" for number in judged], pa.string())
        judgements = pa.table({"query_id": [query_id] * len(judged), "doc_id": doc_ids, "score": pa.array(grades, pa.int32())})
        qrels.append(judgements.sort_by("doc_id"))
        if rng.random() >= 0.01:
            found = pa.array([f"doc-{number}" for number in retrieved], pa.string())
            ranks = pa.array(range(1, hits + 1), pa.int32())
            runs.append(pa.table([[query_id] * hits, found, scores(rng, hits), ranks], schema=RUN))
    pq.write_table(pa.concat_tables(runs), folder / "run.parquet", compression="zstd")
    pq.write_table(pa.concat_tables(qrels), folder / "qrels.parquet", compression="zstd")


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
