"""Reference implementation of fusion and tuning for the audit, from their definitions, one query at a time.

It shares no code with fusing and tuning but the measures, so that it does not repeat their mistakes.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement
from statistics import fmean, pstdev
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core.layout import QRELS, QUERIES, RUN, RUN_RECORD
from beirflow.core.records import read_json
from beirflow.families.fusion.settings import STEP, TUNED, FusionSettings
from beirflow.families.spot_checks.spot_check import Finding, Subject
from beirflow.ranking.judged_ranking import make_ranking
from beirflow.ranking.measures.all_measures import MEASURES

ROUNDING = 2.0**-22
"""Largest change of a score by float32 and another order of adding, over the sum of the sizes of what is added."""

EXACT = 8 * 2.0**-53
"""Largest difference of two values in float64, over their size, and in a z-score over the number and size of what is averaged."""

MORE_POINTS = 2  # minimum number of points of the grid to measure again, besides the best

WORK = 2_000_000
"""Documents that are weighed again, in all points; some seconds. Where there are few, every point is measured."""

Row = dict[str, Any]


def values_of(settings: FusionSettings, rows: Sequence[Row]) -> list[float]:
    """Return the value that a run gives to each of its documents of one query, without its weight; by their scores and ranks."""
    if settings.method == "rrf":
        return [1 / ((60 if settings.k is None else settings.k) + row["rank"]) for row in rows]
    scores = [row["score"] for row in rows]
    if scores and settings.normalize == "min-max":
        lowest, width = min(scores), max(scores) - min(scores)
        return [(score - lowest) / width if width else 1.0 for score in scores]
    if scores and settings.normalize == "z-score":
        mean, spread = fmean(scores), pstdev(scores)
        return [(score - mean) / spread if spread else 0.0 for score in scores]
    return scores


def errors_of(settings: FusionSettings, values: Sequence[float], rows: Sequence[Row]) -> list[float]:
    """Return how far each of these values may be from that of a fusion, which averages in another order.

    The mean and the spread of n scores are off by n roundings of the largest: of scores that hardly differ, by much of a z-score.
    """
    scores, lost = [row["score"] for row in rows], 0.0
    if scores and settings.method != "rrf" and settings.normalize == "z-score" and (spread := pstdev(scores)):
        lost = len(scores) * max(map(abs, scores)) / spread
    return [EXACT * (1 + lost) * (1 + abs(value)) for value in values]


def check_tuning(subject: Subject, random: np.random.Generator) -> Finding:
    """Check that all weights of the grid were tried, on queries that are not evaluated, and measure some of them again.

    These are the best, and as many others as are measured quickly.
    """
    settings: FusionSettings = subject.system.settings
    path = RUN_RECORD(system=subject.system.name, dataset=subject.dataset)
    tuned = read_json(subject.results / path)[TUNED]
    points = {tuple(point["weights"]): point["score"] for point in tuned["grid"]}
    if problem := _other_choice(settings, points, tuple(tuned["chosen"])):
        return Finding(False, f"{path}: {problem[0]}", problem[1])
    texts = {text.strip() for text in _column(subject, QUERIES(dataset=subject.dataset), "text")}
    every = _rows(subject, QUERIES(dataset=tuned["on"]))
    queries = {row["query_id"] for row in every if row["text"].strip() not in texts}
    facts = [tuned["queries"], tuned["queries_left_out"], tuned["measure"]]
    right_facts = [len(queries), len(every) - len(queries), subject.main_measure]
    if facts != right_facts:
        other_facts = f"{path} says that {facts[0]} queries of {tuned['on']} decided by {facts[2]}, and {facts[1]} were left out"
        right = f"{right_facts[0]}, those whose text is not evaluated, by {right_facts[2]}, and {right_facts[1]} left out"
        return Finding(False, other_facts, right)
    documents, qrels = _contributions(subject, settings, tuned["on"], queries), _qrels(subject, tuned["on"], queries)
    more = max(MORE_POINTS, WORK // max(1, sum(map(len, documents.values()))))
    drawn = random.choice(len(points), min(more, len(points)), replace=False).tolist()
    tried = dict.fromkeys([tuple(tuned["chosen"]), *(list(points)[number] for number in drawn)])
    for weights in tried:
        low, high = (_mean(documents, qrels, weights, favour, subject.main_measure) for favour in (-1, 1))
        # What rounding changes in the mean itself.
        if not low - 1e-9 <= points.get(weights, math.nan) <= high + 1e-9:
            said = f"{path} says that the weights {list(weights)} have the {tuned['measure']} {points.get(weights)}"
            return Finding(False, said, f"{low!r} on the {len(queries)} queries of {tuned['on']}")
    return Finding(True, f"{subject.name}: {len(tried)} of {len(points)} weights, on {len(queries)} queries of {tuned['on']}")


def _other_choice(
    settings: FusionSettings, points: Mapping[tuple[float, ...], float], chosen: tuple[float, ...]
) -> tuple[str, str] | None:
    """Return the problem of the weights that were tried or chosen, and the expected ones; None without one."""
    shares, systems = round(1 / (settings.tune or {}).get("step", STEP)), len(settings.of)
    # Each share goes to one system: a product over all systems would be far larger than the grid.
    dealt = combinations_with_replacement(range(systems), shares)
    grid = [tuple(map(systems_of_shares.count, range(systems))) for systems_of_shares in dealt]
    if sorted(points) != sorted(tuple(each / shares for each in point) for point in grid):
        return f"{len(points)} weights were tried", f"the {len(grid)} that share 1 among {systems} systems in steps of 1/{shares}"
    # Of equal ones those that are nearest to equal weights, which multiples of a step say exactly; then the first.
    best = min(grid, key=lambda each: (-points[tuple(share / shares for share in each)], sum(share**2 for share in each), each))
    expected = tuple(share / shares for share in best)
    return None if chosen == expected else (f"the weights {list(chosen)} were chosen", f"{list(expected)}, by its grid")


def _contributions(subject: Subject, settings: FusionSettings, on: str, queries: set[str]) -> dict[str, dict[str, list[float]]]:
    """Return what each run gives to each document, by query and document."""
    by_query: dict[str, dict[str, list[float]]] = {query: {} for query in queries}
    for number, system in enumerate(settings.of):
        of_query: dict[str, list[Row]] = {}
        for row in _rows(subject, RUN(system=system, dataset=on)):
            if row["query_id"] in queries and row["rank"] <= (settings.depth or math.inf):
                of_query.setdefault(row["query_id"], []).append(row)
        for query, rows in of_query.items():
            for row, value in zip(rows, values_of(settings, rows), strict=True):
                by_query[query].setdefault(row["doc_id"], [0.0] * len(settings.of))[number] = value
    return by_query


def _qrels(subject: Subject, on: str, queries: set[str]) -> pa.Table:
    qrels = pq.read_table(subject.file(QRELS(dataset=on)))
    return qrels.filter(pc.is_in(qrels["query_id"], value_set=pa.array(sorted(queries), pa.string())))


def _mean(
    documents: Mapping[str, Mapping[str, Sequence[float]]], qrels: pa.Table, weights: Sequence[float], favour: int, measure: str
) -> float:
    """Return the mean of a measure if rounding favours relevant documents, 1, or the others, -1."""
    grades: dict[str, dict[str, int]] = {query: {} for query in documents}
    for row in qrels.select(["query_id", "doc_id", "score"]).to_pylist():
        grades.setdefault(row["query_id"], {})[row["doc_id"]] = max(0, row["score"])
    name, _, cutoff = measure.partition("@")
    ranked: list[tuple[str, str, int]] = []
    for query, of_query in documents.items():
        parts = {doc: [weight * value for weight, value in zip(weights, values, strict=True)] for doc, values in of_query.items()}
        size = 2 * ROUNDING * max((math.fsum(map(abs, values)) for values in parts.values()), default=0.0)
        scores = {doc: math.fsum(values) + favour * size * grades[query].get(doc, 0) for doc, values in parts.items()}
        best = sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)[: int(cutoff)]
        ranked += [(query, doc, -place) for place, doc in enumerate(best)]
    columns = [list(column) for column in zip(*ranked, strict=True)] or [[], [], []]
    run = pa.table(columns, schema=pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), ("score", pa.float32())]))
    return float(np.nanmean(MEASURES[name].compute(make_ranking(run, qrels, [int(cutoff)]), int(cutoff))))


def _rows(subject: Subject, path: str) -> list[Row]:
    rows: list[Row] = pq.read_table(subject.file(path)).to_pylist()
    return rows


def _column(subject: Subject, path: str, name: str) -> list[Any]:
    values: list[Any] = pq.read_table(subject.file(path))[name].to_pylist()
    return values
