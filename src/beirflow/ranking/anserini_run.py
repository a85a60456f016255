"""Runs as Anserini and Pyserini write them, whose order of ties is that of their published values.

They rank by score as float32 and then by ascending id, cut at 1,000 hits, round scores to four decimals, lower tied ones by a
millionth each, and only then remove the document that is the query. Six decimals are printed.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.ranking.run_file import RUN

HITS = 1000
"""Hits of a query that they keep."""

SAME = np.float32(1e-4)
"""Distance to the previous score within which a rounded score counts as a tie."""

STEP = np.float32(1e-6)

COLUMNS = RUN.names[:3]


def as_written(run: pa.Table, self_matches: Mapping[str, float]) -> pa.Table:
    """Return the hits of a run as Anserini would have written them, sorted by query and its rank.

    trec_eval 9 reads the scores as float32 and ranks ties by descending id. Lowered scores are float32 before they are printed:
    up to 8 they all differ, so ids of ties ascend; above, the more become equal the higher the score is, pairs from 32 on, and
    ids descend among these.

    Args:
        run: Columns ``query_id``, ``doc_id`` and ``score``, in any order, cut at :data:`HITS` by ascending ids, or longer.
        self_matches: By query, the score of the document with its id, if the run has it not.

    Returns:
        The same columns; scores are the float32 nearest to what is printed.
    """
    ids = pa.array(self_matches, pa.string())
    own = pa.table([ids, ids, pa.array(self_matches.values(), pa.float32())], names=COLUMNS)
    hits = pa.concat_tables([run.select(COLUMNS).cast(own.schema), own])
    hits = hits.sort_by([("query_id", "ascending"), ("score", "descending"), ("doc_id", "ascending")])
    query = hits["query_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    rank = np.arange(len(query)) - np.searchsorted(query, query)
    hits, query, rank = hits.filter(pa.array(rank < HITS)), query[rank < HITS], rank[rank < HITS]
    scores = np.full((query.max(initial=-1) + 1, HITS), np.nan, np.float32)
    scores[query, rank] = hits["score"].to_numpy()
    printed = np.round(lowered(scores)[query, rank].astype(np.float64), 6).astype(np.float32)
    hits = hits.set_column(2, "score", pa.array(printed))
    is_own = pc.and_(pc.equal(hits["query_id"], hits["doc_id"]), pc.is_in(hits["query_id"], value_set=ids))
    return hits.filter(pc.invert(is_own))


def lowered(scores: np.ndarray) -> np.ndarray:
    """Round scores to four decimals and lower ties, in the float32 of Anserini's ``ScoreTiesAdjusterReranker``.

    A score within 1e-4 of the lowered one before it loses 1e-6 for each score since the last that was further away.

    Args:
        scores: float32 of shape (queries, hits), best first; not-a-number beyond the last hit of a query.

    Returns:
        float32 of the same shape.
    """
    rounded = (np.floor(scores.astype(np.float64) * 1e4 + 0.5) / 1e4).astype(np.float32)
    adjusted, repeated = rounded.copy(), np.zeros(len(scores), np.float32)
    for rank in range(1, scores.shape[1]):
        repeated = np.where(adjusted[:, rank - 1] - rounded[:, rank] > SAME, np.float32(0), repeated + np.float32(1))
        adjusted[:, rank] = rounded[:, rank] - STEP * repeated
    return adjusted
