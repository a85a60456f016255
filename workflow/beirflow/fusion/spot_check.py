"""Does the fused run follow from the runs that it was made from? Sampled queries are fused again, one document at a time.

In plain Python, with nothing of ``fuse_runs.py``; what rounding may change is allowed for.
"""

import math
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from beirflow.files.layout import RUN
from beirflow.fusion.settings import FusionSettings
from beirflow.runs.spot_check import Finding, SpotCheck, Subject, as_block, compare_ranks, draw

ROUNDING = 2.0**-22
"""Of a score: what float32, and another order of adding, may change, over the sum of the sizes of what is added."""

Row = dict[str, Any]


def spot_checks(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the check of a fused system on one corpus.

    Args:
        subject: The system and the corpus.
        sample: Queries to draw.
        random: Draws them.

    Returns:
        One check: queries fused again.
    """

    def check() -> Finding:
        return _check(subject, sample, random)

    path = RUN(system=subject.system.name, dataset=subject.dataset)
    return [SpotCheck("queries fused again have the recorded ranks", path, check)]


def _check(subject: Subject, sample: int, random: np.random.Generator) -> Finding:
    settings: FusionSettings = subject.system.settings
    queries = subject.queries()["query_id"]
    query_ids = queries.take(draw(len(queries), sample, random)).to_pylist()
    scores: list[dict[str, list[float]]] = [{} for _ in query_ids]
    for number, system in enumerate(settings.of):
        path = subject.results / RUN(system=system, dataset=subject.dataset)
        rows = pq.read_table(path, filters=[("query_id", "in", query_ids)]).to_pylist()
        for place, query_id in enumerate(query_ids):
            found = [row for row in rows if row["query_id"] == query_id and row["rank"] <= (settings.depth or math.inf)]
            for row, value in zip(found, _values(settings, number, found), strict=True):
                scores[place].setdefault(row["doc_id"], []).append(value)
    together = [{doc_id: math.fsum(values) for doc_id, values in found.items()} for found in scores]
    sizes = [max((math.fsum(map(abs, values)) for values in found.values()), default=0.0) for found in scores]
    expected = f"the runs of {', '.join(settings.of)}, fused"
    return compare_ranks(subject, query_ids, [as_block(together)], lambda: ROUNDING * np.array(sizes), expected)


def _values(settings: FusionSettings, number: int, rows: list[Row]) -> list[float]:
    """What a run gives to each of its documents of one query."""
    if settings.method == "rrf":
        return [1 / ((60 if settings.k is None else settings.k) + row["rank"]) for row in rows]
    scores = [row["score"] for row in rows]
    if scores and settings.normalize == "min-max":
        lowest, width = min(scores), max(scores) - min(scores)
        scores = [(score - lowest) / width if width else 1.0 for score in scores]
    elif scores and settings.normalize == "z-score":
        mean, spread = fmean(scores), pstdev(scores)
        scores = [(score - mean) / spread if spread else 0.0 for score in scores]
    weight = 1.0 if settings.weights is None else settings.weights[number]
    return [weight * score for score in scores]
