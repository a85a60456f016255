"""Measures that compare several queries of a topic.

- p-MRR@k (FollowIR, Weller et al. 2024, arXiv 2403.15246): how much documents that an altered instruction makes irrelevant moved
  down; of a document at rank o and then n it is n/o - 1 if it moved up, and 1 - o/n else; a document that is not among the first
  k has the rank behind them. The mean over the documents of a topic is its value.
- robustness@k (InstructIR, Oh et al. 2024, arXiv 2402.14334): the least NDCG@k of a query under its instructions.

Both have one value a topic, at its first query, or the one with the original instruction; not-a-number at the others.
"""

from collections.abc import Mapping

import numpy as np

from beirflow.data.sources.forms import TOPIC
from beirflow.ranking.judged_ranking import Ranking, once
from beirflow.ranking.measures.registry import Needs, measure
from beirflow.ranking.measures.trec_eval import ndcg

CHANGED = "changed"  # column of judgements: whether a document is relevant to this query of the topic alone


@once
def _topics(ranking: Ranking) -> list[list[int]]:
    """Return the numbers of the queries of each topic, which ascend."""
    if TOPIC not in ranking.qrels.column_names:
        return []
    topic_of = dict(zip(ranking.qrels["query_id"].to_pylist(), ranking.qrels[TOPIC].to_pylist(), strict=True))
    topics: dict[str, list[int]] = {}
    for number, query_id in enumerate(ranking.query_ids):
        if topic_of[query_id] is not None:
            topics.setdefault(topic_of[query_id], []).append(number)
    return list(topics.values())


@once
def _pairs(ranking: Ranking) -> Mapping[tuple[int, int], np.ndarray]:
    """Return by numbers of an original and an altered query of a topic the documents that are relevant to the first alone."""
    if CHANGED not in ranking.qrels.column_names:
        return {}
    changed = np.flatnonzero(ranking.qrels[CHANGED].to_numpy())
    queries = ranking.qrel_query[changed]
    documents = {query: ranking.qrel_document[changed[queries == query]] for query in np.unique(queries).tolist()}
    orders = [sorted(both, key=lambda query: query not in documents) for both in _topics(ranking)]
    whole = [tuple(both) for both in orders if len(both) == 2 and len(documents.keys() & set(both)) == 1]
    return {(original, altered): documents[original] for original, altered in whole}


def _has_instructions(ranking: Ranking) -> bool:
    return CHANGED not in ranking.qrels.column_names and bool(_topics(ranking))


OF_PAIRS = Needs("datasets with instructions", "followir", lambda ranking: bool(_pairs(ranking)), compare_queries=True)
OF_TOPICS = Needs("datasets with instructions", "instructir", _has_instructions, compare_queries=True)


@measure("p-MRR", needs=OF_PAIRS)
def p_mrr(ranking: Ranking, k: int) -> np.ndarray:
    """Downward move of documents that an altered instruction makes irrelevant."""
    values = np.full(len(ranking.query_ids), np.nan)
    for (original, altered), documents in _pairs(ranking).items():
        moves = []
        for document in documents:
            before, after = (_rank_of(ranking, query, document, k) for query in (original, altered))
            moves.append(after / before - 1 if before >= after else 1 - before / after)
        values[original] = np.mean(moves)
    return values


@measure("robustness", needs=OF_TOPICS)
def robustness(ranking: Ranking, k: int) -> np.ndarray:
    """Least NDCG of a query under its instructions."""
    values, of_queries = np.full(len(ranking.query_ids), np.nan), ndcg(ranking, k)
    for queries in _topics(ranking):
        values[queries[0]] = of_queries[queries].min()
    return values


def _rank_of(ranking: Ranking, query: int, document: int, k: int) -> int:
    """Return the rank of a document, or k + 1."""
    found = np.flatnonzero(ranking.documents[query, :k] == document)
    return int(found[0] if len(found) else ranking.retrieved[query, :k].sum()) + 1
