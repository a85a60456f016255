"""Measures of retrieval quality, for every query.

NDCG, MAP, Recall and P come from pytrec_eval, which is trec_eval. The others are ours, vectorised over queries. MRR, R_cap,
Hole and Accuracy, a hit rate, are those of the BEIR paper (Thakur et al. 2021, arXiv 2104.08663) and package. Neither has F1
(van Rijsbergen 1979, the harmonic mean of P and Recall at k) and NDCG_exp (Burges et al. 2005, doi:10.1145/1102351.1102363). A
document is relevant when its judgement is at least ``relevant_from``, as with trec_eval's ``-l``: 1, or as the dataset says; NDCG
and NDCG_exp take every judgement as a gain. A query with no retrieved document scores 0 in every measure. Judgements that say
more have further measures, those of ``topic_measures.py``.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pytrec_eval

from beirflow.evaluation.judged_ranking import Ranking, make_ranking
from beirflow.evaluation.topic_measures import topic_measures

TREC_NAMES = {"NDCG": "ndcg_cut", "MAP": "map_cut", "Recall": "recall", "P": "P"}


def measure(run: pa.Table, qrels: pa.Table, cutoffs: Sequence[int]) -> pd.DataFrame:
    """Compute all measures of all judged queries.

    Args:
        run: ``query_id``, ``doc_id`` and ``score`` of the retrieved documents, in any order; ranked here by the ranking rule.
        qrels: ``query_id``, ``doc_id`` and ``score`` of the judgements, and the further columns of ``qrels.parquet`` if there are
            any; metadata may say from which score a document is relevant.
        cutoffs: The k of the measures.

    Returns:
        One row a judged query in byte order of the ids: ``query_id``, then a float64 column a measure, named as BEIR prints it,
            e.g. ``NDCG@10``; not-a-number in measures of a topic but at one query of it.
    """
    ranking = make_ranking(run, qrels, max(cutoffs))
    columns: dict[str, np.ndarray] = _trec_measures(ranking, cutoffs)
    for k in cutoffs:
        columns |= {f"{name}@{k}": values for name, values in _own_measures(ranking, k).items()}
    order = [*TREC_NAMES, "MRR", "R_cap", "Hole", "Accuracy", "F1", "NDCG_exp"]
    named = {f"{name}@{k}": columns[f"{name}@{k}"] for name in order for k in cutoffs}
    named |= topic_measures(ranking, qrels, [columns[f"NDCG@{k}"] for k in cutoffs], cutoffs)
    return pd.DataFrame({"query_id": ranking.query_ids, **named})


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
        "Hole": (ranking.retrieved[:, :k] & (ranking.documents[:, :k] < 0)).sum(axis=1) / k,
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
