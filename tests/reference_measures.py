"""An oracle: the measures from their definitions, one query at a time.

Nothing here is shared with ``ranking/measures/`` or with pytrec_eval, so that a mistake in one of them is not repeated here.
NDCG, MAP, Recall and P are trec_eval's ``ndcg_cut``, ``map_cut``, ``recall`` and ``P``; F1 and NDCG_exp are textbook measures,
and the others follow the BEIR paper and package, FreshStack, FollowIR and InstructIR.
"""

import math
from collections.abc import Container, Mapping, Sequence


def measures_of_query(
    ranked: Sequence[str], judgements: Mapping[str, int], judged: Container[str], cutoffs: Sequence[int], relevant_from: int = 1
) -> dict[str, float]:
    """Return all measures of one query by name, such as ``NDCG@10``.

    ``ranked`` are the ids of the retrieved documents, best first, ``judgements`` the grades of this query, ``judged`` the ids of
    documents that are judged for any query. A document is relevant from the grade ``relevant_from``, for measures without grades.
    """
    depth = max(cutoffs)
    gains = [max(0, judgements.get(doc_id, 0)) for doc_id in ranked[:depth]]
    holes = [doc_id not in judged for doc_id in ranked[:depth]]
    ideal = sorted((grade for grade in judgements.values() if grade > 0), reverse=True)
    measures: dict[str, float] = {}
    for k in cutoffs:
        values = _at_cutoff(gains[:k], ideal, k, relevant_from) | {"Hole": sum(holes[:k]) / k}
        measures |= {f"{name}@{k}": value for name, value in values.items()}
    return measures


def _at_cutoff(gains: Sequence[int], ideal: Sequence[int], k: int, relevant_from: int) -> dict[str, float]:
    """Return the measures of the first k documents, from their grades by rank and all grades of the query, the highest first."""
    ranks = [rank for rank, gain in enumerate(gains, 1) if gain >= relevant_from]
    hits, relevant = len(ranks), sum(gain >= relevant_from for gain in ideal)
    precision, recall = hits / k, _quotient(hits, relevant)
    return {
        "NDCG": _quotient(_dcg(gains), _dcg(ideal[:k])),
        "MAP": _quotient(math.fsum(number / rank for number, rank in enumerate(ranks, 1)), relevant),
        "Recall": recall,
        "P": precision,
        "MRR": 1 / ranks[0] if ranks else 0.0,
        "R_cap": _quotient(hits, min(relevant, k)),
        "Accuracy": 1.0 if ranks else 0.0,
        "F1": _quotient(2 * precision * recall, precision + recall),
        "NDCG_exp": _quotient(_dcg([2**gain - 1 for gain in gains]), _dcg([2**gain - 1 for gain in ideal[:k]])),
    }


def measures_of_nuggets(
    ranked: Sequence[str], supports: Mapping[str, Sequence[bool]], cutoffs: Sequence[int]
) -> dict[str, float]:
    """Return alpha-nDCG, with alpha 0.5, and coverage of one query.

    Args:
        ranked: Ids of the retrieved documents, best first.
        supports: By judged document, for each nugget whether it supports that.
        cutoffs: The k of the measures.

    Returns:
        The measures by name.
    """
    facts = {doc_id: {number for number, flag in enumerate(flags) if flag} for doc_id, flags in supports.items()}
    left, ideal = sorted((doc_id for doc_id in facts if facts[doc_id]), reverse=True), list[str]()
    seen: dict[int, int] = {}
    while left and len(ideal) < max(cutoffs):
        ideal.append(max(left, key=lambda doc_id: sum(0.5 ** seen.get(fact, 0) for fact in facts[doc_id])))  # the first of equals
        left.remove(ideal[-1])
        seen |= {fact: seen.get(fact, 0) + 1 for fact in facts[ideal[-1]]}
    measures = {}
    for k in cutoffs:
        covered = {fact for doc_id in ranked[:k] for fact in facts.get(doc_id, ())}
        measures[f"alpha-nDCG@{k}"] = _quotient(_novelty_dcg(ranked[:k], facts), _novelty_dcg(ideal[:k], facts))
        measures[f"coverage@{k}"] = _quotient(len(covered), max(map(len, supports.values()), default=0))
    return measures


def _novelty_dcg(ranked: Sequence[str], facts: Mapping[str, set[int]]) -> float:
    seen: dict[int, int] = {}
    gains = []
    for doc_id in ranked:
        gains.append(sum(0.5 ** seen.get(fact, 0) for fact in facts.get(doc_id, ())))
        seen |= {fact: seen.get(fact, 0) + 1 for fact in facts.get(doc_id, ())}
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def p_mrr(before: Sequence[str], after: Sequence[str], changed: Sequence[str], cutoffs: Sequence[int]) -> dict[str, float]:
    """Return p-MRR of a topic by name, from its ranked documents under the original and the altered instruction."""
    measures = {}
    for k in cutoffs:
        moves = []
        for doc_id in changed:
            old, new = ([*ids[:k], doc_id].index(doc_id) + 1 for ids in (before, after))
            moves.append(new / old - 1 if old >= new else 1 - old / new)
        measures[f"p-MRR@{k}"] = math.fsum(moves) / len(moves)
    return measures


def _dcg(gains: Sequence[int]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1) if gain)


def _quotient(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else 0.0
