"""Comparison of a claimed run with recomputed scores: scores or order, and documents that the run leaves out."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from beirflow.extensions.verify.recompute import Scores

LEAST_TOLERANCE = 1e-4  # tolerance of a score relative to the largest of its query, however well most scores agree
TIMES_MEDIAN = 50  # the same in units of the median difference: rounding has no such tails

SCORE, ORDER, LEFT_OUT = "score", "order", "left out"


@dataclass(frozen=True)
class Comparison:
    """Claimed hits whose documents are in the pool, and documents of the pool that a ranking should have."""

    by: str  # ``score`` or ``order``
    tolerance: float  # between two scores, relative to the largest of the query
    # query_id, doc_id, rank, claimed and recomputed score, apart (relative; of an order, how far it is inverted), wrong
    hits: pd.DataFrame
    left_out: pd.DataFrame  # query_id, doc_id, recomputed

    @property
    def agreeing(self) -> float:
        """Share of the hits that agree."""
        return float(1 - self.hits["wrong"].mean()) if len(self.hits) else 0.0

    @property
    def wrong_queries(self) -> list[str]:
        """Ids of queries with a difference, those with the most first."""
        counted = pd.concat([self.hits.loc[self.hits["wrong"], "query_id"], self.left_out["query_id"]]).value_counts()
        return [str(each) for each in counted.index]


def is_of_ranks(run: pa.Table) -> bool:
    """Test whether the scores of a run say no more than its ranks: all queries have the same ones."""
    frame = run.select(["rank", "score"]).to_pandas()
    return bool(run["query_id"].combine_chunks().unique().__len__() > 1 and frame.groupby("rank")["score"].nunique().max() == 1)


def compare(claimed: pa.Table, depth: int, scores: Scores, tolerance: float, by: str = "") -> Comparison:
    """Compare a claimed run of some queries, which lists ``depth`` documents where it found so many, with recomputed scores.

    Unless ``by`` says how, scores on another scale are compared by their order: if it is right everywhere, so is every measure.
    """
    hits = claimed.select(["query_id", "doc_id", "rank", "score"]).to_pandas().rename(columns={"score": "claimed"})
    hits["recomputed"] = scores.of(claimed["query_id"], claimed["doc_id"])
    in_pool = np.isin(hits["doc_id"].to_numpy(object), scores.doc_ids.to_numpy(zero_copy_only=False))
    last = hits.groupby("query_id")["claimed"].agg(["min", "size"])
    hits = hits[in_pool].sort_values(["query_id", "rank"], ignore_index=True)
    scale = pd.Series(np.nanmax(np.abs(scores.values), axis=1, initial=1e-30), scores.query_ids.to_pylist())
    by_order = _by_order(hits, scale, tolerance)
    left_out = _left_out(hits, scores, scale, tolerance)
    ordered = Comparison(ORDER, tolerance, by_order, left_out)
    if by == ORDER:
        return ordered
    apart = ((hits["claimed"] - hits["recomputed"]).abs() / hits["query_id"].map(scale)).fillna(np.inf).to_numpy(np.float64)
    within = min(tolerance, max(LEAST_TOLERANCE, TIMES_MEDIAN * float(np.median(apart)))) if len(apart) else tolerance
    wrong = ~(apart <= within)
    if not by and wrong.mean() > 0.5 and not by_order["wrong"].any() and left_out.empty:
        return ordered
    full = last["min"].where(last["size"] == depth) if wrong.mean() <= 0.5 else None  # else they may be on another scale
    left_out = _left_out(hits, scores, scale, within, full)
    return Comparison(SCORE, within, hits.assign(apart=apart, wrong=wrong), left_out)


def _by_order(hits: pd.DataFrame, scale: "pd.Series[float]", tolerance: float) -> pd.DataFrame:
    """Mark the hits whose recomputed score is higher than one that the claimed run ranks before them."""
    filled = hits["recomputed"].fillna(-np.inf)
    least = filled.groupby(hits["query_id"]).cummin().groupby(hits["query_id"]).shift(fill_value=np.inf)
    apart = ((filled - least) / hits["query_id"].map(scale)).clip(lower=0).fillna(0.0)
    return hits.assign(apart=apart, wrong=apart > tolerance)


def _left_out(
    hits: pd.DataFrame, scores: Scores, scale: "pd.Series[float]", tolerance: float, full: "pd.Series[float] | None" = None
) -> pd.DataFrame:
    """Return the documents of the pool that no ranking lists, although they score higher than the last that it lists.

    ``full`` has the last claimed scores of the full rankings; without it, or beside it, the last one is recomputed.
    """
    query_ids, doc_ids = scores.query_ids.to_pylist(), scores.doc_ids.to_pylist()
    row, column = ({each: place for place, each in enumerate(ids)} for ids in (query_ids, doc_ids))
    listed = np.zeros(scores.values.shape, bool)
    listed[hits["query_id"].map(row).to_numpy(np.int64), hits["doc_id"].map(column).to_numpy(np.int64)] = True
    least = hits.groupby("query_id")["recomputed"].min().reindex(query_ids).to_numpy(np.float64)
    if full is not None:
        least = np.fmin(least, full.reindex(query_ids).to_numpy(np.float64))
    # No hit in the pool: nothing is known of the last one.
    least = np.where(np.isnan(least), np.inf, least) + tolerance * scale.reindex(query_ids).to_numpy()
    with np.errstate(invalid="ignore"):
        places = np.nonzero(~listed & (scores.values > least[:, None]))
    found = {"query_id": np.array(query_ids, object)[places[0]], "doc_id": np.array(doc_ids, object)[places[1]]}
    return pd.DataFrame({**found, "recomputed": scores.values[places]})
