"""Merge of the candidates of all chunks of a large corpus to one run, in few chunks and in ten times as many."""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core.layout import CANDIDATES
from beirflow.core.records import Job
from bench.child import report

PARTS, SAMPLE, SYSTEM = 10, 20, "none"

STEP = 1_000_003
"""A prime above every size of a chunk, so that its multiples are distinct rows."""

BLOCK = 500
"""Queries whose parts are joined at once."""

Ranked = list[tuple[str, float]]
"""Document ids and scores of a query, best first."""


def inputs(folder: Path, queries: int, documents: int, chunks: int, k: int, before_ids: str = "") -> None:
    """Write candidates as ``search_chunk`` does, of the same documents in few chunks and in many.

    FOLDER/<chunks> has a corpus of many chunks, FOLDER/<chunks / 10> the same documents in a tenth as many; candidates are in a
    folder beside FOLDER. What a large chunk finds is the best of what its ten parts find, so that both must merge to the same
    run. Scores are the best of as many draws from the exponential distribution as a chunk has documents; as float32 a few
    thousand of those that end in the run tie. ``documents`` is a multiple of ``chunks``, and that of ten. ``before_ids`` starts
    every id of a document.
    """
    from beir_writer import write_corpus_record

    rng = np.random.default_rng(documents)
    size = documents // chunks
    numbers = rng.permutation(documents)
    names = sorted((str(name) for name in rng.permutation(100 * queries)[:queries].tolist()), key=str.encode)
    for count in (chunks, chunks // PARTS):
        here = folder / str(count)
        here.mkdir(parents=True)
        write_ids(here / "documents.parquet", np.split(numbers, count), before_ids)
        pq.write_table(pa.table({"query_id": names}), here / "queries.parquet")
        write_corpus_record(here, folder.parent)
    for large in range(chunks // PARTS):
        parts = [hits(rng, queries, size, k) for _ in range(PARTS)]
        for number, part in enumerate(parts):
            save(folder / str(chunks), large * PARTS + number, *part)
        save(folder / str(chunks // PARTS), large, *join(parts, size, k))


def write_ids(path: Path, chunks: list[np.ndarray], before_ids: str) -> None:
    """Write the documents of a corpus without texts, chunk after chunk, so that memory holds the ids of one."""
    from beirflow.data.corpus_reader import DOCUMENTS

    with pq.ParquetWriter(path, DOCUMENTS, use_dictionary=False, write_page_checksum=True) as file:
        for numbers in chunks:
            ids = pc.binary_join_element_wise(before_ids, pa.array(numbers).cast(pa.string()), "")
            texts = pa.nulls(len(ids), pa.large_string()).fill_null("")
            table = pa.table([ids, texts, pa.nulls(len(ids), pa.int32()).fill_null(0)], schema=DOCUMENTS)
            file.write_table(table, row_group_size=len(ids))


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
    import steps
    from beirflow.data.corpus_files import recorded_digest
    from beirflow.ranking.candidates import Candidates

    query = np.repeat(np.arange(len(rows), dtype=np.int32), rows.shape[1])
    job = Job(folder.parents[1])
    paths = [folder / f"{name}.parquet" for name in ("queries", "documents")]
    facts = {"top_k": rows.shape[1], "ties": "descending", "counts": {"self_matches_dropped": 1}, "seconds": {"search": 0.5}}
    inputs = job.digests({path: recorded_digest(path) for path in paths})
    hits = query, rows.ravel(), scores.ravel()
    path = candidates_of(folder)[chunk]
    steps.write_recorded(Candidates, path, hits, job, inputs=inputs, sources={}, made={}, **facts)


def candidates_of(folder: Path) -> list[str]:
    """The candidates of all chunks of a corpus, whose folder has their number as its name."""
    names = {"system": SYSTEM, "dataset": folder.name}
    return [str(folder.parents[1] / CANDIDATES(**names, chunk=chunk)) for chunk in range(int(folder.name))]


def ours(output: Path, source: Path, k: int) -> None:
    """Run ``merge_chunks``, in the job of the candidates."""
    merge(SYSTEM, source.name, candidates_of(source), source, output / "run.parquet", k, Job(source.parents[1]))


def merge(system: str, dataset: str, candidates: list[str], corpus: Path, run: Path, k: int, job: Job) -> None:
    """Merge candidates of all chunks of a corpus to a run and its record."""
    import steps
    from beirflow.ranking.merge import merge_chunks

    steps.run(
        merge_chunks,
        job,
        [str(run), str(run.with_suffix(".json"))],
        queries=str(corpus / "queries.parquet"),
        documents=str(corpus / "documents.parquet"),
        candidates=candidates,
        system=system,
        dataset=dataset,
        top_k=k,
        run_settings={},
    )


def brute_force(source: Path, sample: np.ndarray, k: int) -> list[Ranked]:
    """The k best of some queries: all candidates, sorted as the ranking rule reads."""
    from beirflow.ranking.candidates import Candidates

    doc_ids = pq.read_table(source / "documents.parquet", columns=["doc_id"])["doc_id"]
    chunks = int(source.name)
    size = len(doc_ids) // chunks
    ranked: list[Ranked] = [[] for _ in sample]
    for chunk, path in enumerate(candidates_of(source)):
        ids = doc_ids.slice(chunk * size, size).to_numpy()
        query, row, score = Candidates(path).read()
        for number, wanted in enumerate(sample):
            here = slice(*np.searchsorted(query, [wanted, wanted + 1]))
            ranked[number] += zip(ids[row[here]], score[here].tolist(), strict=True)
    return [sorted(all_hits, key=lambda hit: (hit[1], hit[0].encode()), reverse=True)[:k] for all_hits in ranked]


def check(source: Path, k: int, few: Path, many: Path) -> None:
    """Compare the runs of few and of many chunks, byte by byte, and some queries with brute force over all their candidates."""
    from beirflow.core.digests import file_digest

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
    same = f"{run.num_rows:,} rows, the same bytes from few chunks and many"
    report(agree=f"{same}; {len(sample)} queries are those of brute force")
