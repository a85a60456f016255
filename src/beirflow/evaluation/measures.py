"""All measures of a run, for every query.

A document is relevant if its judgement is at least the threshold of the dataset, by default 1. A query with no
retrieved document scores 0 in every measure of every dataset. ``ranking/measures/`` has the measures.
"""

from collections.abc import Sequence

import pandas as pd
import pyarrow as pa

from beirflow.ranking.judged_ranking import make_ranking
from beirflow.ranking.measures.all_measures import MEASURES


def measure(run: pa.Table, qrels: pa.Table, cutoffs: Sequence[int], *, ranked: bool = False) -> pd.DataFrame:
    """Compute all measures of all judged queries; arguments are those of :func:`make_ranking`.

    Returns one row a judged query in byte order of the ids: ``query_id``, then a float64 column a measure, named as BEIR prints
    it, e.g. ``NDCG@10``, measure by measure; not-a-number in measures of a topic but at one query of it.
    """
    ranking = make_ranking(run, qrels, cutoffs, ranked=ranked)
    defined = [each for each in MEASURES.values() if each.is_defined(ranking)]
    columns = {f"{each.name}@{k}": each.compute(ranking, k) for each in defined for k in cutoffs}
    return pd.DataFrame({"query_id": ranking.query_ids, **columns})
