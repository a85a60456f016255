"""Measures of the facts that documents support, and of several queries of a topic.

- alpha-nDCG@k (Clarke et al. 2008, doi:10.1145/1390334.1390446) with alpha 0.5, as TREC's ndeval computes it: a nugget that comes
  again counts half of what it did, and the ideal ranking is greedy, of equal documents the one with the highest id first.
- coverage@k (FreshStack, Thakur et al. 2025, arXiv 2504.13128): the share of nuggets that one of the first k documents supports.
- p-MRR@k (FollowIR, Weller et al. 2024, arXiv 2403.15246): how much documents that an altered instruction makes irrelevant moved
  down; of a document at rank o and then n it is n/o - 1 if it moved up, and 1 - o/n else; a document that is not among the first
  k has the rank behind them. The mean over the documents of a topic is its value.
- robustness@k (InstructIR, Oh et al. 2024, arXiv 2402.14334): the least NDCG@k of a query under its instructions.

The last two have one value a topic, at its first query, or the one with the original instruction; not-a-number at the others.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from beirflow.data.sources.forms import NUGGETS, TOPIC
from beirflow.evaluation.judged_ranking import Ranking

ALPHA = 0.5


def topic_measures(
    ranking: Ranking, qrels: pa.Table, ndcg: Sequence[np.ndarray], cutoffs: Sequence[int]
) -> dict[str, np.ndarray]:
    """Compute the measures that the columns of judgements allow, by name; float64 of shape (q,), q judged queries.

    ``ndcg`` are the values of NDCG at each of the cutoffs, of shape (q,).
    """
    found: dict[str, np.ndarray] = {}
    if NUGGETS in qrels.column_names:
        found |= _of_nuggets(ranking, qrels, cutoffs)
    topics = _topics(ranking, qrels) if TOPIC in qrels.column_names else []
    if "changed" in qrels.column_names:
        if pairs := _pairs(ranking, qrels, topics):
            found |= {f"p-MRR@{k}": _p_mrr(ranking, pairs, k) for k in cutoffs}
    elif topics:
        for k, values in zip(cutoffs, ndcg, strict=True):
            found[f"robustness@{k}"] = np.full(len(values), np.nan)
            for queries in topics:
                found[f"robustness@{k}"][queries[0]] = values[queries].min()
    return found


def _topics(ranking: Ranking, qrels: pa.Table) -> list[list[int]]:
    """Return the numbers of the queries of each topic, which ascend."""
    topic_of = dict(zip(qrels["query_id"].to_pylist(), qrels[TOPIC].to_pylist(), strict=True))
    topics: dict[str, list[int]] = {}
    for number, query_id in enumerate(ranking.query_ids):
        if topic_of[query_id] is not None:
            topics.setdefault(topic_of[query_id], []).append(number)
    return list(topics.values())


def _pairs(ranking: Ranking, qrels: pa.Table, topics: Sequence[Sequence[int]]) -> dict[tuple[int, int], np.ndarray]:
    """Return by numbers of an original and an altered query of a topic the documents that are relevant to the first alone."""
    changed = np.flatnonzero(qrels["changed"].to_numpy())
    queries = ranking.qrel_query[changed]
    documents = {query: ranking.qrel_document[changed[queries == query]] for query in np.unique(queries).tolist()}
    orders = [sorted(both, key=lambda query: query not in documents) for both in topics]
    whole = [tuple(both) for both in orders if len(both) == 2 and len(documents.keys() & set(both)) == 1]
    return {(original, altered): documents[original] for original, altered in whole}


def _p_mrr(ranking: Ranking, pairs: Mapping[tuple[int, int], np.ndarray], k: int) -> np.ndarray:
    """Compute p-MRR@k of each topic, at the query with the original instruction."""
    values = np.full(len(ranking.query_ids), np.nan)
    for (original, altered), documents in pairs.items():
        moves = []
        for document in documents:
            before, after = (_rank_of(ranking, query, document, k) for query in (original, altered))
            moves.append(after / before - 1 if before >= after else 1 - before / after)
        values[original] = np.mean(moves)
    return values


def _rank_of(ranking: Ranking, query: int, document: int, k: int) -> int:
    """Return the rank of a document, or the one behind the last of the first k."""
    found = np.flatnonzero(ranking.documents[query, :k] == document)
    return int(found[0] if len(found) else ranking.retrieved[query, :k].sum()) + 1


def _of_nuggets(ranking: Ranking, qrels: pa.Table, cutoffs: Sequence[int]) -> dict[str, np.ndarray]:
    """Compute alpha-nDCG and coverage of each query; 0 where it has no nuggets."""
    lists, depth = qrels[NUGGETS].to_pylist(), max(cutoffs)
    found = {f"{name}@{k}": np.zeros(len(ranking.query_ids)) for name in ("alpha-nDCG", "coverage") for k in cutoffs}
    for query in range(len(ranking.query_ids)):
        judged = np.flatnonzero(ranking.qrel_query == query)
        supports = np.array([lists[row] for row in judged], bool)  # of shape (judged documents, nuggets)
        if not supports.any():
            continue
        place = {document: number for number, document in enumerate(ranking.qrel_document[judged].tolist())}
        none = np.zeros(supports.shape[1], bool)
        ranked = np.array(
            [supports[place[each]] if each in place else none for each in ranking.documents[query, :depth].tolist()]
        )
        gains, ideal = _dcg(ranked), _dcg(_ideal(supports[supports.any(axis=1)], depth))
        covered = np.logical_or.accumulate(ranked).mean(axis=1)
        for k in cutoffs:
            last = min(k, len(ideal)) - 1
            found[f"alpha-nDCG@{k}"][query] = gains[min(k, len(gains)) - 1] / ideal[last]
            found[f"coverage@{k}"][query] = covered[min(k, len(covered)) - 1]
    return found


def _dcg(supports: np.ndarray) -> np.ndarray:
    """Return the discounted gain of the first 1, 2, … documents; ``supports`` is bool of shape (documents, nuggets)."""
    before = np.cumsum(supports, axis=0) - supports
    gains = (supports * (1 - ALPHA) ** before).sum(axis=1)
    return np.cumsum(gains / np.log2(np.arange(2, len(gains) + 2)))


def _ideal(supports: np.ndarray, depth: int) -> np.ndarray:
    """Return documents, in byte order of their ids, in the greedy order, at most ``depth``."""
    order: list[int] = []
    worth, left = np.ones(supports.shape[1]), supports.astype(np.float64)
    for _ in range(min(depth, len(supports))):
        gains = left @ worth
        gains[order] = -1
        best = len(gains) - 1 - int(gains[::-1].argmax())
        order.append(best)
        worth[supports[best]] *= 1 - ALPHA
    return supports[order]
