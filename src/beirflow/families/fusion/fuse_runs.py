"""Fuse the runs of several systems to one."""

import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from beirflow.core.artifact import Made, step
from beirflow.data.corpus_files import Corpus, Qrels, Queries
from beirflow.families.first_stages import FirstRun, fields_of
from beirflow.families.fusion.blocks import Rows, fused
from beirflow.families.fusion.settings import TUNED, FusionSettings
from beirflow.families.fusion.tuning import Measure, tune
from beirflow.ranking.run_file import NewRun, Run


@dataclass(frozen=True)
class Tuning:
    """The corpus on which weights are tuned, and the measure that shall be the largest."""

    tuned_on: str | None  # its name; None where weights are stated
    tuning_runs: Sequence[FirstRun]
    tuning_queries: Queries | None
    tuning_qrels: Qrels | None
    tuning_corpus: Corpus | None
    measure: Measure
    main_measure: str


@step(Run, stage="fuse")
def fuse_runs(
    queries: Queries, corpus: Corpus, runs: Sequence[FirstRun], settings: FusionSettings, run: NewRun, tuning: Tuning
) -> Made:
    """Fuse the runs of several systems on one corpus, those of ``settings.of``. Raises DataError if weights cannot be tuned."""
    start, fields, seconds = time.perf_counter(), dict[str, Any](counts={}), dict[str, float]()
    if tuning.tuned_on and tuning.tuning_queries and tuning.tuning_qrels:
        tables = [each.read() for each in tuning.tuning_runs], tuning.tuning_queries.read(), tuning.tuning_qrels.read()
        tuned = tune(settings, tuning.tuned_on, *tables, queries.read(), tuning.measure, tuning.main_measure)
        # The whole grid is recorded, so that an audit can measure other points than the best.
        settings, fields[TUNED] = replace(settings, weights=tuned["chosen"]), tuned
        seconds["tune"] = time.perf_counter() - start

    def rows() -> Iterator[Rows]:
        """Yield fused rows, then record time and versions."""
        begin = time.perf_counter()
        yield from fused(settings, [each.read() for each in runs], run.top_k)
        seconds["fuse"] = time.perf_counter() - begin
        versions = {"python": platform.python_version(), "numpy": np.__version__}
        made.fields |= fields_of(run, runs, made=versions, seconds=seconds)

    made = Made(rows(), **fields)
    return made
