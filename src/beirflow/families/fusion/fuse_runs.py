"""Fuse the runs of several systems to one."""

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from beirflow.core.digests import file_digest
from beirflow.core.layout import CORPUS, QRELS, QUERIES, RUN
from beirflow.core.records import Job
from beirflow.data.corpus_files import read_table, recorded_digest
from beirflow.families.first_stages import FirstStages
from beirflow.families.fusion.blocks import fused
from beirflow.families.fusion.settings import TUNED, FusionSettings
from beirflow.families.fusion.tuning import Measure, Tuned, tune
from beirflow.ranking.run_file import NewRun, write_run


def fuse_runs(
    *,
    settings: FusionSettings,
    run: NewRun,
    run_paths: Sequence[str],
    corpus_path: str,
    tuned_on: str | None,
    measure: Measure,
    main_measure: str,
    job: Job,
) -> None:
    """Fuse the runs of several systems on one corpus, those of ``settings.of``, each next to its record.

    Weights are tuned on the corpus ``tuned_on``, whose runs and judgements are there, so that ``main_measure``, computed by
    ``measure``, is the largest; None if they are stated. Raises DataError if a run is not the one that was recorded, or was made
    for another corpus; or if weights cannot be tuned.
    """
    start, read, facts, seconds = time.perf_counter(), dict[str, str](), dict[str, Any](), dict[str, float]()
    first_stages = FirstStages(settings.of, run_paths, corpus_path, job)
    if tuned_on is not None:
        tuned, read = _tuned(settings, run.dataset, tuned_on, partial(tune, measure=measure, main_measure=main_measure), job)
        # The whole grid is recorded, so that an audit can measure other points than the best.
        settings, facts[TUNED] = replace(settings, weights=tuned["chosen"]), tuned
        seconds["tune"] = time.perf_counter() - start
        start = time.perf_counter()
    write_run(run.run_path, fused(settings, first_stages.runs, run.top_k))
    first_stages.write_record(
        run,
        made={"python": platform.python_version(), "numpy": np.__version__},
        seconds={**seconds, "fuse": time.perf_counter() - start},
        read=read,
        counts={},
        **facts,
    )


def _tuned(
    settings: FusionSettings, dataset: str, on: str, tuning: Callable[..., Tuned], job: Job
) -> tuple[Tuned, dict[str, str]]:
    """Return tuned weights, and digests of what they were tuned with by path below the results."""
    run_paths = [str(job.results / RUN(system=system, dataset=on)) for system in settings.of]
    runs = FirstStages(settings.of, run_paths, str(job.results / CORPUS(dataset=on)), job)
    queries, qrels, evaluated = (
        job.results / path for path in (QUERIES(dataset=on), QRELS(dataset=on), QUERIES(dataset=dataset))
    )
    tuned = tuning(settings, on, runs.runs, read_table(queries), read_table(qrels), read_table(evaluated))
    corpus = CORPUS(dataset=on)
    return tuned, {**runs.inputs, QRELS(dataset=on): recorded_digest(qrels), corpus: file_digest(job.results / corpus)}
