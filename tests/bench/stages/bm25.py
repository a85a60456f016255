"""BM25 from texts to postings, statistics and hits, beside bm25s and a real Lucene.

bm25s is another BM25 than Lucene's: words are those of a regular expression, nothing is stemmed, lengths are exact.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from bench.child import report, timed_call

WORDS, VOCABULARY, RUN = 180, 500_000, "run.txt"

WARM_UP = 2
"""Texts with which numba compiles functions."""

FIRST, LEAST_SHARED = 10, 0.5
"""Part of the first hits that two systems share which both weigh words by BM25, but not the same words."""

Hits = dict[str, tuple[np.ndarray, np.ndarray]]
"""By query ids and scores, best first."""


def inputs(folder: Path, documents: int, queries: int) -> None:
    """Write a corpus of one chunk, 180 words a document on average, and the same texts as Anserini reads them."""
    from bench.stages import bm25_msmarco

    bm25_msmarco.inputs(folder, documents, 1, queries, VOCABULARY, WORDS)
    (folder / "lucene").mkdir()
    corpus, asked = (pq.read_table(folder / f"{name}.parquet").to_pydict() for name in ("documents", "queries"))
    with (folder / "lucene/corpus.jsonl").open("w") as stream:
        for doc_id, text in zip(corpus["doc_id"], corpus["text"], strict=True):
            stream.write(json.dumps({"_id": doc_id, "title": "", "text": text, "metadata": {}}) + "\n")
    topics = zip(asked["query_id"], asked["text"], strict=True)
    (folder / "topics.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in topics))


def our_index(output: Path, folder: Path, k: int, threads: int) -> None:
    """Time ``index_chunk`` of the one chunk and ``sum_statistics``, from files to files."""
    jobs = jobs_of(folder, k, threads)
    with timed_call():
        jobs.index_chunk(0)
        jobs.sum_statistics()


def our_search(output: Path, folder: Path, k: int) -> None:
    """Time ``search_index`` from files to a file."""
    jobs = jobs_of(folder, k)
    with timed_call():
        jobs.search_index(0)


def jobs_of(folder: Path, k: int, threads: int = 1) -> Any:
    """The jobs, with the parameters of every peer, which are ours by default; what a job imports is no part of its time."""
    import pandas  # noqa: F401

    import steps  # noqa: F401
    from bench.stages.bm25_msmarco import Jobs

    return Jobs(folder, 1, k, threads)


def bm25s_index(output: Path, source: Path, threads: int) -> None:
    """Time tokenising and indexing of texts in memory by bm25s with numba."""
    import bm25s
    import numba

    def indexed(texts: list[str]) -> Any:
        made = bm25s.BM25(method="lucene", k1=0.9, b=0.4, backend="numba")
        made.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
        return made

    numba.set_num_threads(threads)
    texts = pq.read_table(source / "documents.parquet")["text"].to_pylist()
    indexed(texts[-WARM_UP:])
    with timed_call():
        made = indexed(texts)
    made.save(output, show_progress=False)


def bm25s_search(output: Path, source: Path, index: Path, k: int, threads: int) -> None:
    """Time tokenising of queries and retrieval from an index in memory by bm25s with numba."""
    import bm25s
    import numba

    def retrieved(queries: list[str]) -> Any:
        tokens = bm25s.tokenize(queries, stopwords="en", show_progress=False)
        return searcher.retrieve(tokens, k=k, n_threads=threads, show_progress=False)

    numba.set_num_threads(threads)
    queries = pq.read_table(source / "queries.parquet")["text"].to_pylist()
    searcher = bm25s.BM25.load(index)
    searcher.backend = "numba"
    searcher.activate_numba_scorer()
    retrieved(queries[:WARM_UP])
    with timed_call():
        rows, scores = retrieved(queries)
    np.savez(output / "hits.npz", row=rows, score=scores)


def lucene_index(output: Path, source: Path, threads: int) -> None:
    """Time Anserini's indexing of JSON lines, start of Java included."""
    import anserini

    with timed_call():
        anserini.index(source / "lucene", output / "index", anserini.FLAT, threads)


def lucene_search(output: Path, source: Path, index: Path, k: int, threads: int) -> None:
    """Time Anserini's search, which writes a run, start of Java included."""
    import anserini

    with timed_call():
        anserini.search(index / "index", source / "topics.tsv", output / RUN, anserini.FLAT, k, threads)


def check(source: Path, folder: Path) -> None:
    """Compare every hit of ours with Lucene's, and its score as Anserini prints it; bm25s must have half of the first hits."""
    doc_ids = pq.read_table(source / "documents.parquet", columns=["doc_id"])["doc_id"].to_numpy()
    query_ids = pq.read_table(source / "queries.parquet")["query_id"].to_pylist()
    hits, lucene = our_hits(Path(jobs_of(folder, 1).candidates[0]), doc_ids, query_ids), folder / "Lucene, search"
    same = compare_with_lucene(hits, lucene) if lucene.exists() else "not compared with Lucene"
    with np.load(folder / "bm25s, search/hits.npz") as found:
        theirs = {name: doc_ids[row[:FIRST]] for name, row in zip(query_ids, found["row"], strict=True)}
    parts = [len({*ids[:FIRST]} & {*theirs[name]}) / len(ids[:FIRST]) for name, (ids, _) in hits.items()]
    shared = float(np.mean(parts))
    if shared < LEAST_SHARED:
        sys.exit(f"bm25s has {shared:.0%} of our first {FIRST} hits, expected at least {LEAST_SHARED:.0%}")
    report(agree=f"{same}; bm25s, which is another BM25, has {shared:.0%} of the first {FIRST}")


def our_hits(candidates: Path, doc_ids: np.ndarray, query_ids: list[str]) -> Hits:
    """Our candidates, which are the hits in the whole corpus, since it is one chunk."""
    from beirflow.ranking.candidates import Candidates

    query, row, score = Candidates(candidates).read()
    cuts = np.searchsorted(query, np.arange(len(query_ids) + 1)).tolist()
    spans = zip(query_ids, cuts, cuts[1:], strict=False)
    return {name: (doc_ids[row[start:end]], score[start:end]) for name, start, end in spans if end > start}


def compare_with_lucene(ours: Hits, lucene: Path) -> str:
    """Stop at the first query that differs."""
    import anserini_run

    theirs = anserini_run.read_run(lucene / RUN)
    if ours.keys() != theirs.keys():
        sys.exit(f"{len(ours)} queries have hits, but {len(theirs)} in Lucene")
    for name, (ids, scores) in ours.items():
        if list(zip(ids, anserini_run.as_printed(scores.tolist()), strict=True)) != theirs[name]:
            sys.exit(f"query {name} has other hits than in Lucene")
    return f"all {sum(map(len, theirs.values())):,} hits are Lucene's, with the scores that it prints"
