"""Compare our hits with Lucene's, every one and its score as Anserini prints it, and look whether those of bm25s are like them.

python -m bench.bm25.check INPUT OURS BM25S [LUCENE]
"""

import sys
from pathlib import Path

import anserini_run
import numpy as np
import pyarrow.parquet as pq

from bench.bm25.peer_lucene import RUN
from bench.child import report

FIRST = 10
LEAST_SHARED = 0.5
"""Part of the first hits that two systems share which both weigh words by BM25, but not the same words."""

Hits = dict[str, tuple[np.ndarray, np.ndarray]]
"""By query ids and scores, best first."""


def our_hits(source: Path, ours: Path) -> Hits:
    """Our candidates, which are those of the whole corpus, since it is one chunk."""
    doc_ids = pq.read_table(source / "documents.parquet", columns=["doc_id"])["doc_id"].to_numpy()
    query_ids = pq.read_table(source / "queries.parquet")["query_id"].to_pylist()
    with np.load(ours / "candidates.npz") as found:
        query, row, score = (found[name] for name in ("query", "row", "score"))
    cuts = np.searchsorted(query, np.arange(len(query_ids) + 1)).tolist()
    spans = zip(query_ids, cuts, cuts[1:], strict=False)
    return {name: (doc_ids[row[start:end]], score[start:end]) for name, start, end in spans if end > start}


def compare_with_lucene(ours: Hits, lucene: Path) -> str:
    """Stop at the first query that differs."""
    theirs = anserini_run.read_run(lucene / RUN)
    if ours.keys() != theirs.keys():
        sys.exit(f"{len(ours)} queries have hits, but {len(theirs)} in Lucene")
    for name, (ids, scores) in ours.items():
        if list(zip(ids, anserini_run.as_printed(scores.tolist()), strict=True)) != theirs[name]:
            sys.exit(f"query {name} has other hits than in Lucene")
    hits = sum(map(len, theirs.values()))
    return f"all {hits:,} hits are Lucene's, with the scores that it prints"


def shared_with_bm25s(source: Path, ours: Hits, bm25s: Path) -> float:
    """Which part of the first hits is the same, on average."""
    doc_ids = pq.read_table(source / "documents.parquet", columns=["doc_id"])["doc_id"].to_numpy()
    query_ids = pq.read_table(source / "queries.parquet")["query_id"].to_pylist()
    with np.load(bm25s / "hits.npz") as found:
        rows = found["row"]
    pairs = [(ours[name][0][:FIRST], doc_ids[row[:FIRST]]) for name, row in zip(query_ids, rows, strict=True) if name in ours]
    return float(np.mean([len(set(a) & set(b)) / len(a) for a, b in pairs]))


def main(source: Path, ours: Path, bm25s: Path, lucene: Path | None = None) -> None:
    """Compare, and say what was compared."""
    hits = our_hits(source, ours)
    same = compare_with_lucene(hits, lucene) if lucene else "not compared with Lucene"
    shared = shared_with_bm25s(source, hits, bm25s)
    if shared < LEAST_SHARED:
        sys.exit(f"bm25s has {shared:.0%} of our first {FIRST} hits, expected at least {LEAST_SHARED:.0%}")
    report(agree=f"{same}; bm25s, which is another BM25, has {shared:.0%} of the first {FIRST}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
