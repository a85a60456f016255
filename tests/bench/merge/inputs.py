"""Make candidates as ``search_chunk`` writes them, of the same documents in few chunks and in many.

    python -m bench.merge.inputs FOLDER QUERIES DOCUMENTS CHUNKS K

FOLDER/<CHUNKS> holds many chunks, FOLDER/<CHUNKS / 10> the same documents in a tenth as many: what a large chunk finds is the
best of what its ten parts find, so that both must merge to the same run. Scores are the best of as many draws from the
exponential distribution as a chunk has documents; as float32 a few thousand of those that end in the run tie.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from beir_writer import write_corpus_record
from beirflow.datasets.corpus_files import recorded_digest
from beirflow.datasets.corpus_reader import DOCUMENTS
from beirflow.files.records import Job
from beirflow.runs.candidates import Candidates, origin_of, write_candidates

PARTS = 10
STEP = 1_000_003
"""A prime above every size of a chunk, so that its multiples are distinct rows."""

BLOCK = 500
"""Queries whose parts are joined at once."""


def hits(rng: np.random.Generator, queries: int, size: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and scores of the k best of a chunk, best first, each of shape (queries, k)."""
    tails = np.cumsum(rng.standard_exponential((queries, k)), axis=1) / size
    rows = (rng.integers(0, size, (queries, 1)) + np.arange(k) * STEP) % size
    return rows.astype(np.int32), -np.log(tails).astype(np.float32)


def join(parts: list[tuple[np.ndarray, np.ndarray]], size: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and scores of the k best of a large chunk, from those of its parts."""
    joined = []
    for start in range(0, len(parts[0][0]), BLOCK):
        block = slice(start, start + BLOCK)
        rows = np.concatenate([rows[block] + number * size for number, (rows, _) in enumerate(parts)], axis=1)
        scores = np.concatenate([scores[block] for _, scores in parts], axis=1)
        best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        best = np.take_along_axis(best, np.argsort(-np.take_along_axis(scores, best, 1), axis=1), 1)
        joined.append((np.take_along_axis(rows, best, 1), np.take_along_axis(scores, best, 1)))
    rows, scores = (np.concatenate(columns) for columns in zip(*joined, strict=True))
    return rows, scores


def save(folder: Path, chunk: int, rows: np.ndarray, scores: np.ndarray) -> None:
    """Write the candidates of a chunk."""
    k = rows.shape[1]
    query = np.repeat(np.arange(len(rows), dtype=np.int32), k)
    candidates = Candidates(query, rows.ravel(), scores.ravel(), self_matches=1)
    job = Job(folder.parents[1])
    paths = [folder / f"{name}.parquet" for name in ("queries", "documents")]
    inputs = job.digests({path: recorded_digest(path) for path in paths})
    found = origin_of(job, system="none", chunk=chunk, top_k=k, searched={}, read=inputs, seconds=0.5)
    write_candidates(folder / f"chunk-{chunk}.npz", candidates, found)


def write(folder: Path, queries: int, documents: int, chunks: int, k: int) -> None:
    """Write both forms; ``documents`` is a multiple of ``chunks``, and that of ten."""
    rng = np.random.default_rng(documents)
    size = documents // chunks
    ids = pa.array(rng.permutation(documents)).cast(pa.string())
    texts, title_bytes = pa.nulls(documents, pa.large_string()).fill_null(""), pa.nulls(documents, pa.int32()).fill_null(0)
    table = pa.table([ids, texts, title_bytes], schema=DOCUMENTS)
    names = sorted((str(name) for name in rng.permutation(100 * queries)[:queries].tolist()), key=str.encode)
    for count in (chunks, chunks // PARTS):
        here = folder / str(count)
        here.mkdir(parents=True)
        pq.write_table(
            table, here / "documents.parquet", row_group_size=documents // count, use_dictionary=False, write_page_checksum=True
        )
        pq.write_table(pa.table({"query_id": names}), here / "queries.parquet")
        write_corpus_record(here)
    for large in range(chunks // PARTS):
        parts = [hits(rng, queries, size, k) for _ in range(PARTS)]
        for number, part in enumerate(parts):
            save(folder / str(chunks), large * PARTS + number, *part)
        save(folder / str(chunks // PARTS), large, *join(parts, size, k))


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:]))
