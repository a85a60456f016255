"""NDCG, MAP, Recall and P of pytrec_eval, which is trec_eval: ``ndcg_cut``, ``map_cut``, ``recall`` and ``P``.

A document is relevant from a grade, as with trec_eval's ``-l``; NDCG takes every judgement as a gain.
"""

from collections.abc import Mapping

import numpy as np

from beirflow.ranking.judged_ranking import Ranking, once
from beirflow.ranking.measures.registry import measure

NAMES = ("ndcg_cut", "map_cut", "recall", "P")


@measure("NDCG", mteb="ndcg")
def ndcg(ranking: Ranking, k: int) -> np.ndarray:
    """Discounted gain of the first k documents, relative to the best order; grades are gains (trec_eval)."""
    return _values(ranking)[f"ndcg_cut_{k}"]


@measure("MAP", mteb="map")
def average_precision(ranking: Ranking, k: int) -> np.ndarray:
    """Precision at each relevant document among the first k, added up, over all relevant ones (trec_eval)."""
    return _values(ranking)[f"map_cut_{k}"]


@measure("Recall", mteb="recall")
def recall(ranking: Ranking, k: int) -> np.ndarray:
    """Share of the relevant documents that are among the first k (trec_eval)."""
    return _values(ranking)[f"recall_{k}"]


@measure("P", mteb="precision")
def precision(ranking: Ranking, k: int) -> np.ndarray:
    """Share of the first k documents that are relevant: precision (trec_eval)."""
    return _values(ranking)[f"P_{k}"]


@once
def _values(ranking: Ranking) -> Mapping[str, np.ndarray]:
    """Compute the four measures at all cutoffs in one call of pytrec_eval; each of shape (q,), by their names there.

    A query is called by its number, and a document by its rank, with which its score descends: the order is that of the ranking
    rule, which is trec_eval's, and queries share their runs, which saves most of the time of handing over millions of ids. A run
    ends with its last relevant document, since nothing after it counts in these measures. Judgements below 0 count as 0, and are
    handed over as such: pytrec_eval reads outside its memory for a query whose judgements are all below -1.
    """
    import pytrec_eval  # not where only names of measures are needed

    queries, grades = [str(number) for number in range(len(ranking.query_ids))], np.maximum(ranking.grades, 0)
    names = [f"{place:09d}" for place in range(grades.shape[1])]
    lengths = ((grades > 0) * np.arange(1, len(names) + 1)).max(axis=1).tolist()
    run_of_length = {n: {name: -float(place) for place, name in enumerate(names[:n])} for n in set(lengths)}
    run = {query: run_of_length[n] for query, n in zip(queries, lengths, strict=True)}
    qrels: list[dict[str, int]] = [{} for _ in queries]
    for of, place in np.argwhere(grades > 0).tolist():
        qrels[of][names[place]] = int(grades[of, place])
    for number, (of, grade) in enumerate(ranking.missed.tolist()):
        qrels[of][f"missed {number}"] = grade
    ks = ",".join(map(str, ranking.cutoffs))
    evaluator = pytrec_eval.RelevanceEvaluator(
        dict(zip(queries, qrels, strict=True)),
        {f"{name}.{ks}" for name in NAMES},
        relevance_level=ranking.relevant_from,
    )
    values = evaluator.evaluate(run)
    return {
        f"{name}_{k}": np.array([values.get(query, {}).get(f"{name}_{k}", 0.0) for query in queries])
        for name in NAMES
        for k in ranking.cutoffs
    }
