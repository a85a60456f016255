"""The peer beir: its measures and its four custom ones, on dictionaries in memory.

python -m bench.evaluate.peer_beir INPUT OUTPUT CUTOFF...
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
from beir.retrieval.evaluation import EvaluateRetrieval

from bench.child import timed_call

CUSTOM = ("mrr", "recall_cap", "hole", "top_k_accuracy")

Nested = dict[str, dict[str, float]]


def nested(path: Path) -> Nested:
    """Scores by query and document."""
    table = pq.read_table(path, columns=["query_id", "doc_id", "score"])
    found: Nested = {}
    for query_id, doc_id, score in zip(*(column.to_pylist() for column in table.columns), strict=True):
        found.setdefault(query_id, {})[doc_id] = score
    return found


def read(source: Path) -> tuple[Nested, Nested]:
    """Judgements and results; a query without hits has an empty result, as beir's search gives it."""
    qrels, results = nested(source / "qrels.parquet"), nested(source / "run.parquet")
    return qrels, {query_id: results.get(query_id, {}) for query_id in qrels}


def evaluate(qrels: Nested, results: Nested, cutoffs: Sequence[int]) -> dict[str, float]:
    """All measures of beir, by name; nothing is dropped, since no query is a document."""
    plain = EvaluateRetrieval.evaluate(qrels, results, cutoffs, ignore_identical_ids=False)
    custom = [EvaluateRetrieval.evaluate_custom(qrels, results, cutoffs, metric) for metric in CUSTOM]
    return {name: value for measures in (*plain, *custom) for name, value in measures.items()}


if __name__ == "__main__":
    judgements, hits = read(Path(sys.argv[1]))
    with timed_call():
        means = evaluate(judgements, hits, [int(k) for k in sys.argv[3:]])
    Path(sys.argv[2], "means.json").write_text(json.dumps(means))
