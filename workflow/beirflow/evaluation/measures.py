"""Measures of retrieval quality, for every query.

NDCG, MAP, Recall and P come from pytrec_eval, which is trec_eval. The others are ours, vectorised over queries. MRR, R_cap,
Hole and Accuracy, a hit rate, are those of the BEIR paper (Thakur et al. 2021, arXiv 2104.08663) and package. Neither has F1
(van Rijsbergen 1979, the harmonic mean of P and Recall at k) and NDCG_exp (Burges et al. 2005, doi:10.1145/1102351.1102363). A
document is relevant when its judgement is at least ``relevant_from``, as with trec_eval's ``-l``: 1, or as the dataset says; NDCG
and NDCG_exp take every judgement as a gain. A query with no retrieved document scores 0 in every measure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytrec_eval

from beirflow.datasets.corpus_files import relevant_from
from beirflow.runs.ranking import byte_order, rank

TREC_NAMES = {"NDCG": "ndcg_cut", "MAP": "map_cut", "Recall": "recall", "P": "P"}


@dataclass(frozen=True)
class Ranking:
    """Runs and judgements as arrays: q judged queries in byte order of their ids, the first n ranks."""

    query_ids: list[str]  # ids of the judged queries, length q
    retrieved: np.ndarray  # whether there is a document at a rank, bool of shape (q, n)
    grades: np.ndarray  # judgement of the document at a rank, 0 if there is none, int64 of shape (q, n)
    judged: np.ndarray  # whether the document at a rank is judged for any query, bool of shape (q, n)
    relevant: np.ndarray  # number of relevant documents of each query, retrieved or not, int64 of shape (q,)
    ideal: np.ndarray  # judgements of each query above 0 in descending order, then zeros, int64 of shape (q, n)
    # number of the query and judgement of every document judged above 0 that is at no rank, int64 of shape (m, 2)
    missed: np.ndarray
    relevant_from: int = 1  # grade from which a document is relevant


def measure(run: pa.Table, qrels: pa.Table, cutoffs: Sequence[int]) -> pd.DataFrame:
    """Compute all measures of all judged queries.

    Args:
        run: ``query_id``, ``doc_id`` and ``score`` of the retrieved documents, in any order; ranked here by the ranking rule.
        qrels: ``query_id``, ``doc_id`` and ``score`` of the judgements; metadata may say from which score a document is relevant.
        cutoffs: The k of the measures.

    Returns:
        One row a judged query in byte order of the ids: ``query_id``, then a float64 column a measure, named as BEIR prints it,
            e.g. ``NDCG@10``.
    """
    ranking = make_ranking(run, qrels, max(cutoffs))
    columns: dict[str, np.ndarray] = _trec_measures(ranking, cutoffs)
    for k in cutoffs:
        columns |= {f"{name}@{k}": values for name, values in _own_measures(ranking, k).items()}
    order = [*TREC_NAMES, "MRR", "R_cap", "Hole", "Accuracy", "F1", "NDCG_exp"]
    named = {f"{name}@{k}": columns[f"{name}@{k}"] for name in order for k in cutoffs}
    return pd.DataFrame({"query_id": ranking.query_ids, **named})


def make_ranking(run: pa.Table, qrels: pa.Table, depth: int) -> Ranking:
    """Rank the first ``depth`` documents of judged queries and look up their judgements, both as for :func:`measure`."""
    query_ids = pc.unique(qrels["query_id"])
    query_ids = query_ids.take(pc.sort_indices(query_ids))
    shape = (len(query_ids), depth)
    run_query, qrel_query = (_number(table["query_id"], query_ids) for table in (run, qrels))
    # Other queries are dropped first: a run may have many.
    of_judged_query = np.flatnonzero(run_query >= 0)
    run = run.take(pa.array(of_judged_query)) if len(of_judged_query) < run.num_rows else run
    run_query = run_query[of_judged_query]
    kept, ranks = rank(
        run_query, run["score"].to_numpy(), lambda tied: byte_order(run["doc_id"].take(tied).combine_chunks()), depth
    )
    run_query = run_query[kept]

    judged_docs = pc.unique(qrels["doc_id"])
    run_doc, qrel_doc = (_number(table["doc_id"], judged_docs) for table in (run, qrels))
    run_doc = run_doc[kept]
    judgements = qrels["score"].to_numpy().astype(np.int64)
    grades, retrieved, judged = np.zeros(shape, np.int64), np.zeros(shape, bool), np.zeros(shape, bool)
    retrieved[run_query, ranks - 1] = True
    judged[run_query, ranks - 1] = run_doc >= 0
    some = np.flatnonzero(run_doc >= 0)
    # A pair of query and document is one number, int64 since a product of two int32 may not fit into one.
    judgement = _find(run_query[some] * len(judged_docs) + run_doc[some], among=qrel_query * len(judged_docs) + qrel_doc)
    some, judgement = some[judgement >= 0], judgement[judgement >= 0]
    grades[run_query[some], ranks[some] - 1] = judgements[judgement]
    positive, relevant = judgements > 0, relevant_from(qrels)
    missed = positive.copy()
    missed[judgement] = False
    return Ranking(
        query_ids.to_pylist(),
        retrieved,
        grades,
        judged,
        relevant=np.bincount(qrel_query[judgements >= relevant], minlength=len(query_ids)),
        ideal=_ideal(qrel_query[positive], judgements[positive], shape),
        missed=np.stack([qrel_query[missed], judgements[missed]], axis=1),
        relevant_from=relevant,
    )


def _number(ids: pa.ChunkedArray, among: pa.Array) -> np.ndarray:
    """Return the place of each id among others, -1 if it is not there; int64."""
    return pc.fill_null(pc.index_in(ids, value_set=among), -1).to_numpy().astype(np.int64)


def _find(keys: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Return the place of each key among others, -1 if it is not there."""
    order = np.argsort(among)
    place = order[np.minimum(np.searchsorted(among[order], keys), len(among) - 1)]
    return np.where(among[place] == keys, place, -1)


def _ideal(query: np.ndarray, grades: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return the grades of each query in descending order, cut or filled with zeros to the shape."""
    order = np.lexsort((-grades, query))
    query, grades = query[order], grades[order]
    place = np.arange(len(query)) - np.searchsorted(query, query)
    ideal = np.zeros(shape, np.int64)
    inside = place < shape[1]
    ideal[query[inside], place[inside]] = grades[inside]
    return ideal


def _trec_measures(ranking: Ranking, cutoffs: Sequence[int]) -> dict[str, np.ndarray]:
    """Compute NDCG, MAP, Recall and P by pytrec_eval; each of shape (q,).

    A document is called by its rank, and its score descends with it: the order is that of the ranking rule, which is
    trec_eval's, and queries share their runs, which saves most of the time of handing over millions of ids. A run ends with its
    last relevant document, since nothing after it counts in these measures. Judgements below 0 count as 0, and are handed over
    as such: pytrec_eval reads outside its memory for a query whose judgements are all below -1.
    """
    grades = np.maximum(ranking.grades, 0)
    names = [f"{place:09d}" for place in range(grades.shape[1])]
    lengths = ((grades > 0) * np.arange(1, len(names) + 1)).max(axis=1).tolist()
    run_of_length = {n: {name: -float(place) for place, name in enumerate(names[:n])} for n in set(lengths)}
    run = {query_id: run_of_length[n] for query_id, n in zip(ranking.query_ids, lengths, strict=True)}
    qrels: list[dict[str, int]] = [{} for _ in ranking.query_ids]
    for query, place in np.argwhere(grades > 0).tolist():
        qrels[query][names[place]] = int(grades[query, place])
    for number, (query, grade) in enumerate(ranking.missed.tolist()):
        qrels[query][f"missed {number}"] = grade
    ks = ",".join(map(str, cutoffs))
    evaluator = pytrec_eval.RelevanceEvaluator(
        dict(zip(ranking.query_ids, qrels, strict=True)),
        {f"{name}.{ks}" for name in TREC_NAMES.values()},
        relevance_level=ranking.relevant_from,
    )
    values = evaluator.evaluate(run)
    return {
        f"{ours}@{k}": np.array([values.get(query_id, {}).get(f"{theirs}_{k}", 0.0) for query_id in ranking.query_ids])
        for ours, theirs in TREC_NAMES.items()
        for k in cutoffs
    }


def _own_measures(ranking: Ranking, k: int) -> dict[str, np.ndarray]:
    """Compute the measures that pytrec_eval does not have, at one cutoff; each of shape (q,)."""
    relevant_at = ranking.grades[:, :k] >= ranking.relevant_from
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
    """Return the discounted cumulative gain with the gain 2^grade − 1 (Burges et al. 2005), negative grades counting as 0."""
    gains = np.exp2(np.maximum(grades, 0)) - 1
    return (gains / np.log2(np.arange(2, grades.shape[1] + 2))).sum(axis=1)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return the quotient, 0 if the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator != 0)
