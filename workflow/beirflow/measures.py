"""Measures of retrieval quality, for every query.

NDCG, MAP, Recall and P come from pytrec_eval, which is trec_eval. The others are ours, vectorised over queries, and follow the
BEIR paper (Thakur et al. 2021, arXiv 2104.08663) and package. A document is relevant when its judgement is above 0. A query with
no retrieved document scores 0 in every measure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytrec_eval

from beirflow.ranking import byte_order, rank

TREC_NAMES = {"NDCG": "ndcg_cut", "MAP": "map_cut", "Recall": "recall", "P": "P"}


@dataclass(frozen=True)
class Ranking:
    """Runs and judgements as arrays: q judged queries in byte order of their ids, the first n ranks.

    Attributes:
        query_ids: Ids of the judged queries, length q.
        retrieved: Whether there is a document at a rank, bool of shape (q, n).
        grades: Judgement of the document at a rank, 0 if there is none, int64 of shape (q, n).
        judged: Whether the document at a rank is judged for any query, bool of shape (q, n).
        relevant: Number of relevant documents of each query, retrieved or not, int64 of shape (q,).
        ideal: Judgements of each query above 0 in descending order, then zeros, int64 of shape (q, n).
    """

    query_ids: list[str]
    retrieved: np.ndarray
    grades: np.ndarray
    judged: np.ndarray
    relevant: np.ndarray
    ideal: np.ndarray


def measure(run: pa.Table, qrels: pa.Table, cutoffs: Sequence[int]) -> pd.DataFrame:
    """All measures of all judged queries.

    Args:
        run: ``query_id``, ``doc_id`` and ``score`` of the retrieved documents, in any order; ranked here by the ranking rule.
        qrels: ``query_id``, ``doc_id`` and ``score`` of the judgements.
        cutoffs: The k of the measures.

    Returns:
        One row a judged query in byte order of the ids: ``query_id``, then a float64 column a measure, named as BEIR prints
        it, e.g. ``NDCG@10``.
    """
    ranking = make_ranking(run, qrels, max(cutoffs))
    columns: dict[str, np.ndarray] = _trec_measures(run, qrels, cutoffs, ranking.query_ids)
    for k in cutoffs:
        columns |= {f"{name}@{k}": values for name, values in _own_measures(ranking, k).items()}
    order = [*TREC_NAMES, "MRR", "R_cap", "Hole", "Accuracy", "F1", "NDCG_exp"]
    named = {f"{name}@{k}": columns[f"{name}@{k}"] for name in order for k in cutoffs}
    return pd.DataFrame({"query_id": ranking.query_ids, **named})


def make_ranking(run: pa.Table, qrels: pa.Table, depth: int) -> Ranking:
    """Rank a run and look up its judgements.

    Args:
        run: ``query_id``, ``doc_id`` and ``score``.
        qrels: ``query_id``, ``doc_id`` and ``score``.
        depth: Number of ranks to keep, n.

    Returns:
        Runs and judgements as arrays; queries without judgements are left out.
    """
    query_ids = pc.unique(qrels["query_id"])
    query_ids = query_ids.take(pc.sort_indices(query_ids))
    run = run.filter(pc.is_in(run["query_id"], value_set=query_ids))
    doc_ids = pc.unique(pa.chunked_array([*run["doc_id"].chunks, *qrels["doc_id"].chunks], pa.string()))
    run_query, qrel_query = (
        pc.index_in(table["query_id"], value_set=query_ids).to_numpy().astype(np.int64) for table in (run, qrels)
    )
    run_doc, qrel_doc = (pc.index_in(table["doc_id"], value_set=doc_ids).to_numpy().astype(np.int64) for table in (run, qrels))
    kept, ranks = rank(run_query, run["score"].to_numpy(), byte_order(doc_ids)[run_doc], depth)
    place = (run_query[kept], ranks - 1)
    shape = (len(query_ids), depth)
    grades, retrieved, judged = np.zeros(shape, np.int64), np.zeros(shape, bool), np.zeros(shape, bool)
    judgements = qrels["score"].to_numpy().astype(np.int64)
    retrieved[place] = True
    judged[place] = np.isin(run_doc[kept], qrel_doc)
    grades[place] = _look_up(run_query[kept] * len(doc_ids) + run_doc[kept], qrel_query * len(doc_ids) + qrel_doc, judgements)
    positive = judgements > 0
    relevant = np.bincount(qrel_query[positive], minlength=len(query_ids))
    return Ranking(
        query_ids.to_pylist(), retrieved, grades, judged, relevant, _ideal(qrel_query[positive], judgements[positive], shape)
    )


def _look_up(wanted: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The value of each wanted key; 0 where there is no such key."""
    order = np.argsort(keys)
    place = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    return np.where(keys[order][place] == wanted, values[order][place], 0)


def _ideal(query: np.ndarray, grades: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Grades of each query in descending order, cut or filled with zeros to the shape."""
    order = np.lexsort((-grades, query))
    query, grades = query[order], grades[order]
    place = np.arange(len(query)) - np.searchsorted(query, query)
    ideal = np.zeros(shape, np.int64)
    inside = place < shape[1]
    ideal[query[inside], place[inside]] = grades[inside]
    return ideal


def _trec_measures(run: pa.Table, qrels: pa.Table, cutoffs: Sequence[int], query_ids: list[str]) -> dict[str, np.ndarray]:
    """NDCG, MAP, Recall and P by pytrec_eval, with 0 for judged queries that it leaves out."""
    ks = ",".join(map(str, cutoffs))
    evaluator = pytrec_eval.RelevanceEvaluator(_nested(qrels), {f"{name}.{ks}" for name in TREC_NAMES.values()})
    found = evaluator.evaluate(_nested(run))
    return {
        f"{ours}@{k}": np.array([found.get(query_id, {}).get(f"{theirs}_{k}", 0.0) for query_id in query_ids])
        for ours, theirs in TREC_NAMES.items()
        for k in cutoffs
    }


def _nested(table: pa.Table) -> dict[str, dict[str, float]]:
    """``{query_id: {doc_id: score}}``, as pytrec_eval wants it."""
    nested: dict[str, dict[str, float]] = {}
    for query_id, doc_id, score in zip(*(table[name].to_pylist() for name in ("query_id", "doc_id", "score")), strict=True):
        nested.setdefault(query_id, {})[doc_id] = score
    return nested


def _own_measures(ranking: Ranking, k: int) -> dict[str, np.ndarray]:
    """The measures that pytrec_eval does not have, at one cutoff; each of shape (q,)."""
    relevant_at = ranking.grades[:, :k] > 0
    hits = relevant_at.sum(axis=1)
    any_hit = hits > 0
    precision, recall = hits / k, _ratio(hits, ranking.relevant)
    return {
        "MRR": np.where(any_hit, 1 / (relevant_at.argmax(axis=1) + 1), 0.0),
        "R_cap": _ratio(hits, np.minimum(ranking.relevant, k)),
        "Hole": (ranking.retrieved[:, :k] & ~ranking.judged[:, :k]).sum(axis=1) / k,
        "Accuracy": any_hit.astype(np.float64),
        "F1": _ratio(2 * precision * recall, precision + recall),
        "NDCG_exp": _ratio(_exponential_dcg(ranking.grades[:, :k]), _exponential_dcg(ranking.ideal[:, :k])),
    }


def _exponential_dcg(grades: np.ndarray) -> np.ndarray:
    """Discounted cumulative gain with the gain 2^grade − 1 (Burges et al. 2005), negative grades counting as 0."""
    gains = np.exp2(np.maximum(grades, 0)) - 1
    return (gains / np.log2(np.arange(2, grades.shape[1] + 2))).sum(axis=1)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient, 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator != 0)
