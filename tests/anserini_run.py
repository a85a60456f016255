"""Runs as Anserini writes them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd


def read_run(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Ids and scores, as they are printed, of the hits of each query, by rank.

    Raises:
        ValueError: Ranks do not count from 1.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            query_id, _, doc_id, rank, score, _ = line.split()
            hits = found.setdefault(query_id, [])
            if len(hits) + 1 != int(rank):
                raise ValueError(f"{path}: hit {len(hits) + 1} of query {query_id} has rank {rank}")
            hits.append((doc_id, score))
    return found


def of_ours(run: pd.DataFrame) -> dict[str, list[tuple[str, str]]]:
    """Ids and printed scores of the hits of each query of a stored run, as Anserini would write it: ids of one score ascend."""
    ordered = run.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, True])
    return {
        query_id: list(zip(hits["doc_id"], as_printed(hits["score"].tolist()), strict=True))
        for query_id, hits in ordered.groupby("query_id", sort=False)
    }


def as_printed(scores: Sequence[float]) -> list[str]:
    """Give the scores of one query as Anserini prints them, best first.

    It ranks by the float32 score and then by id, ascending. What it prints is rounded to four decimals. A hit whose rounded score
    is within 1e-4 of the number before it gets 1e-6 less for each hit since the last that was further away, so that a program
    that sorts by score, and ties another way, keeps the order (``ScoreTiesAdjusterReranker``). All of that is in float32, whose
    steps are below 1e-6 up to 16: above, some lowered scores are equal before they are printed (from 32 on, those of a pair),
    and trec_eval orders these by descending ids.
    """
    rounded = (np.floor(np.asarray(scores, np.float32).astype(np.float64) * 1e4 + 0.5) / 1e4).astype(np.float32)
    printed: list[np.float32] = []
    repeated = 0
    for score in rounded:
        far = not printed or printed[-1] - score > np.float32(1e-4)
        repeated = 0 if far else repeated + 1
        printed.append(score - np.float32(1e-6) * np.float32(repeated))
    return [f"{score:.6f}" for score in printed]
