"""Measures of a run, ours beside those of beir, both from tables in memory."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.child import report, timed_call

DOCUMENTS, JUDGED_MEAN = 500_000, 40
CUSTOM = ("mrr", "recall_cap", "hole", "top_k_accuracy")
EXACT, ROUNDED = 1e-9, 0.5e-5 + 1e-9

Nested = dict[str, dict[str, float]]


def inputs(folder: Path, queries: int, hits: int) -> None:
    """Write a run and graded judgements as beirflow does, in byte order of the queries.

    Some judged documents are retrieved, more often near the top, and some are not; most of what is retrieved is judged for no
    query. One query in a hundred has no hit. Every query has a relevant document, without which beir's capped recall divides by
    zero; no two scores of a query are equal, because beir's own measures leave the order of ties to chance.
    """
    from beirflow.ranking.run_file import RUN

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
            steps = np.cumsum(rng.integers(1, 1000, hits))
            runs.append(pa.table([[query_id] * hits, found, ((2**24 - steps) / 2**24).astype(np.float32), ranks], schema=RUN))
    pq.write_table(pa.concat_tables(runs), folder / "run.parquet", compression="zstd")
    pq.write_table(pa.concat_tables(qrels), folder / "qrels.parquet", compression="zstd")


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


def ours(output: Path, source: Path, *cutoffs: int) -> None:
    """Time ``measure`` on tables in memory, as ``evaluate_run`` reads them."""
    from beirflow.core.records import write_json
    from beirflow.evaluation.measures import measure

    run, qrels = pq.read_table(source / "run.parquet"), pq.read_table(source / "qrels.parquet")
    with timed_call():
        table = measure(run, qrels, list(cutoffs))
    values = table.drop(columns="query_id")
    write_json(output / "means.json", {"queries": len(table), "means": values.mean().to_dict()})


def peer_beir(output: Path, source: Path, *cutoffs: int) -> None:
    """Time beir's measures and its four custom ones, on dictionaries in memory."""
    import beir.retrieval.evaluation  # noqa: F401 not part of the time

    judgements, hits = read(source)
    with timed_call():
        means = beir_means(judgements, hits, list(cutoffs))
    (output / "means.json").write_text(json.dumps(means))


def read(source: Path) -> tuple[Nested, Nested]:
    """Judgements and results; a query without hits has an empty result, as beir's search gives it."""

    def nested(path: Path) -> Nested:
        table = pq.read_table(path, columns=["query_id", "doc_id", "score"])
        values: Nested = {}
        for query_id, doc_id, score in zip(*(column.to_pylist() for column in table.columns), strict=True):
            values.setdefault(query_id, {})[doc_id] = score
        return values

    qrels, results = nested(source / "qrels.parquet"), nested(source / "run.parquet")
    return qrels, {query_id: results.get(query_id, {}) for query_id in qrels}


def beir_means(qrels: Nested, results: Nested, cutoffs: Sequence[int], *, drop: bool = False) -> dict[str, float]:
    """All measures of beir, by name; what has the id of its query is dropped where beir is to do so."""
    from beir.retrieval.evaluation import EvaluateRetrieval

    plain = EvaluateRetrieval.evaluate(qrels, results, cutoffs, ignore_identical_ids=drop)
    custom = [EvaluateRetrieval.evaluate_custom(qrels, results, cutoffs, metric) for metric in CUSTOM]
    return {name: value for measures in (*plain, *custom) for name, value in measures.items()}


def check(source: Path, mine: Path, peer: Path, *cutoffs: int) -> None:
    """Compare our means with those of beir as it prints them, and unrounded.

    beir rounds every mean to five decimals. Here its code runs once more with a ``round`` that does nothing, so that its own sums
    can be compared to the last digits.
    """
    from beir.retrieval import custom_metrics, evaluation

    for module in (custom_metrics, evaluation):
        vars(module)["round"] = lambda value, digits: value
    found = json.loads((mine / "means.json").read_text())
    means = found["means"]
    unrounded, rounded = beir_means(*read(source), list(cutoffs)), json.loads((peer / "means.json").read_text())
    for theirs, tolerance in ((unrounded, EXACT), (rounded, ROUNDED)):
        if missing := theirs.keys() - means.keys():
            sys.exit(f"measures of beir that are not here: {sorted(missing)}")
        for name, value in theirs.items():
            if not abs(means[name] - value) <= tolerance:
                sys.exit(f"{name}: ours {means[name]!r}, beir {value!r}, more than {tolerance:g} apart")
    report(agree=f"{len(unrounded)} means over {found['queries']:,} queries within 1e-9 of beir's before it rounds them")
