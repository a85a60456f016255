"""Tuned weights of a fused system: on the queries of another split or dataset, never on the evaluated ones.

Every point of a grid is tried: weights from 0 that add up to 1. The best mean of the main measure over all judged queries wins;
of equal ones, the weights that are nearest to equal ones, and then the first.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.errors import DataError
from beirflow.families.fusion.blocks import Rows, blocks, ranked
from beirflow.families.fusion.settings import STEP, FusionSettings
from beirflow.ranking.run_file import RUN

Measure = Callable[[pa.Table, pa.Table, Sequence[int]], pd.DataFrame]
"""Function that gives the measures at some cutoffs of every judged query, from a run and judgements."""


class Tuned(TypedDict):
    """Tuned weights and their origin, as the record of a run has them."""

    on: str  # name of the corpus whose queries decided
    queries: int  # how many
    queries_left_out: int  # those of that corpus that have the text of an evaluated query
    measure: str  # that was maximised
    grid: list[dict[str, Any]]  # "weights" of each point and their "score"
    chosen: list[float]  # the best weights


def grid(systems: int, step: float) -> np.ndarray:
    """Return every way to share 1 among s systems in steps, a unit fraction; float64 of shape (points, s), in ascending order."""
    shares = round(1 / step)
    return np.array(list(_parts(shares, systems)), np.float64) / shares


def _parts(total: int, count: int) -> list[list[int]]:
    if count == 1:
        return [[total]]
    return [[first, *rest] for first in range(total + 1) for rest in _parts(total - first, count - 1)]


def tune(
    settings: FusionSettings,
    on: str,
    runs: Sequence[pa.Table],
    queries: pa.Table,
    qrels: pa.Table,
    evaluated: pa.Table,
    measure: Measure,
    main_measure: str,
) -> Tuned:
    """Find the best weights of a grid by the main measure, and their origin, for the record.

    ``runs`` are those of ``settings.of`` on the corpus ``on``, with its queries, ``query_id`` and ``text``, and judgements;
    ``evaluated`` are the queries that the system is evaluated on. Raises DataError if every query is one of these, or a run has
    no documents for the others.
    """
    runs, qrels, left_out = _of_others(settings, on, runs, queries, qrels, evaluated)
    cutoff = int(main_measure.partition("@")[2])
    tried = grid(len(runs), (settings.tune or {}).get("step", STEP))
    of_points: list[list[Rows]] = [[] for _ in tried]
    for block in blocks(settings, runs):
        for parts, weights in zip(of_points, tried.tolist(), strict=True):
            parts.append(ranked(block, weights, cutoff))
    scores = [float(measure(_table(parts), qrels, [cutoff])[main_measure].mean()) for parts in of_points]
    # Rounded, because weights that are equally far from equal ones differ in their last bits.
    spread = np.square(tried - 1 / len(runs)).sum(axis=1).round(12).tolist()
    best = min(range(len(tried)), key=lambda point: (-scores[point], spread[point], point))
    return {
        "on": on,
        "queries": len(queries) - left_out,
        "queries_left_out": left_out,
        "measure": main_measure,
        "grid": [{"weights": weights, "score": score} for weights, score in zip(tried.tolist(), scores, strict=True)],
        "chosen": tried[best].tolist(),
    }


def others(queries: pa.Table, evaluated: pa.Table) -> pa.Array:
    """Return the ids of the queries whose text is that of no evaluated query, from two tables with ``query_id`` and ``text``.

    White space at the ends of a text is none of it, as for all systems.
    """
    known = {text.strip() for text in evaluated["text"].to_pylist()}
    other = [text.strip() not in known for text in queries["text"].to_pylist()]
    return queries["query_id"].combine_chunks().filter(pa.array(other, pa.bool_()))


def _of_others(
    settings: FusionSettings, on: str, runs: Sequence[pa.Table], queries: pa.Table, qrels: pa.Table, evaluated: pa.Table
) -> tuple[list[pa.Table], pa.Table, int]:
    """Return runs and judgements without the queries that are evaluated, and how many these are."""
    ids = others(queries, evaluated)
    if not len(ids):
        problem = f"each of the {len(queries)} queries of {on} is evaluated too, so that weights cannot be tuned on them"
        raise DataError(f"{settings.name}: {problem}; name another split or dataset in weights.tune")
    kept = [run.filter(pc.is_in(run["query_id"], value_set=ids)) for run in runs]
    for system, run in zip(settings.of, kept, strict=True):
        if not run.num_rows:
            problem = f"the run of {system} has no documents for the queries of {on}, on which weights are tuned"
            raise DataError(f"{settings.name}: {problem}; name another split or dataset in weights.tune")
    return kept, qrels.filter(pc.is_in(qrels["query_id"], value_set=ids)), len(queries) - len(ids)


def _table(parts: Sequence[Rows]) -> pa.Table:
    return pa.concat_tables([pa.table(list(part), schema=RUN) for part in parts])
