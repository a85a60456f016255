"""Measures of the facts that documents support, nuggets.

- alpha-nDCG@k (Clarke et al. 2008, doi:10.1145/1390334.1390446) with alpha 0.5, as TREC's ndeval computes it: a nugget that comes
  again counts half of what it did, and the ideal ranking is greedy, of equal documents the one with the highest id first.
- coverage@k (FreshStack, Thakur et al. 2025, arXiv 2504.13128): the share of nuggets that one of the first k documents supports.

A query without nuggets has 0 in both.
"""

from collections.abc import Mapping

import numpy as np

from beirflow.data.sources.forms import NUGGETS
from beirflow.ranking.judged_ranking import Ranking, once
from beirflow.ranking.measures.registry import Needs, measure
from beirflow.ranking.measures.weights import discounts

ALPHA = 0.5

NEEDS = Needs("judgements with nuggets", "freshstack", lambda ranking: NUGGETS in ranking.qrels.column_names)


@measure("alpha-nDCG", needs=NEEDS)
def alpha_ndcg(ranking: Ranking, k: int) -> np.ndarray:
    """NDCG of the facts that documents support, a repeated one counting half."""
    return _values(ranking)["alpha-nDCG", k]


@measure("coverage", needs=NEEDS)
def coverage(ranking: Ranking, k: int) -> np.ndarray:
    """Share of the facts that one of the first k documents supports."""
    return _values(ranking)["coverage", k]


@once
def _values(ranking: Ranking) -> Mapping[tuple[str, int], np.ndarray]:
    """Compute both measures at all cutoffs, each of shape (q,)."""
    lists, depth = ranking.qrels[NUGGETS].to_pylist(), max(ranking.cutoffs)
    found = {(name, k): np.zeros(len(ranking.query_ids)) for name in ("alpha-nDCG", "coverage") for k in ranking.cutoffs}
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
        for k in ranking.cutoffs:
            last = min(k, len(ideal)) - 1
            found["alpha-nDCG", k][query] = gains[min(k, len(gains)) - 1] / ideal[last]
            found["coverage", k][query] = covered[min(k, len(covered)) - 1]
    return found


def _dcg(supports: np.ndarray) -> np.ndarray:
    """Return the discounted gain of the first 1, 2, … documents; ``supports`` is bool of shape (documents, nuggets)."""
    before = np.cumsum(supports, axis=0) - supports
    gains = (supports * (1 - ALPHA) ** before).sum(axis=1)
    return np.cumsum(gains / discounts(len(gains)))


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
