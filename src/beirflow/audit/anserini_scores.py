"""Scores of an Anserini or Pyserini run as trec_eval reads them: the tie order of their published values."""

import numpy as np
import pandas as pd

SAME = np.float32(1e-4)
"""Distance to the previous score within which Anserini treats a rounded score as a tie."""

STEP = np.float32(1e-6)


def as_read(run: pd.DataFrame) -> pd.DataFrame:
    """Return a run with the scores that trec_eval 9 reads from the file that Anserini would have written.

    Anserini ranks by score and then by ascending id, rounds to four decimals, lowers tied scores to keep that order, and prints
    six decimals. trec_eval 9 reads float32 and ranks ties by descending id. Ids of ties ascend below a score of 16, where float32
    tells the lowered scores apart; above, they descend among those that became equal: pairs from 32, more the higher the score.

    Args:
        run: Columns ``query_id``, ``doc_id`` and ``score``.

    Returns:
        The same rows and columns, sorted by query and Anserini's rank.
    """
    ordered = run.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, True], kind="stable")
    if ordered.empty:
        return ordered
    row, rank = ordered.groupby("query_id").ngroup().to_numpy(), ordered.groupby("query_id").cumcount().to_numpy()
    scores = np.full((row.max() + 1, rank.max() + 1), np.nan, np.float32)
    scores[row, rank] = ordered["score"]
    return ordered.assign(score=np.round(lowered(scores)[row, rank].astype(np.float64), 6).astype(np.float32))


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
