"""Fused runs, made in this process by the function that the rule calls."""

from collections.abc import Sequence
from pathlib import Path

from beirflow.core.layout import CORPUS, RUN, record_of
from beirflow.core.records import Job
from beirflow.evaluation.measures import measure
from beirflow.families.fusion.fuse_runs import fuse_runs
from beirflow.families.fusion.settings import FusionSettings
from call_with_fields import call
from run_results import DATASET


def fuse_systems(
    results: Path, settings: FusionSettings, top_k: int = 10, tuned_on: str | None = None, of: Sequence[str] | None = None
) -> Path:
    """Fuse the runs of a system's systems, or of others in their place; gives the path of the run."""
    path = results / RUN(system=settings.name, dataset=DATASET)
    call(
        fuse_runs,
        settings=settings,
        system=settings.name,
        dataset=DATASET,
        run_paths=[str(results / RUN(system=name, dataset=DATASET)) for name in of or settings.of],
        corpus_path=str(results / CORPUS(dataset=DATASET)),
        tuned_on=tuned_on,
        measure=measure,
        main_measure="NDCG@10",
        top_k=top_k,
        run_path=str(path),
        record_path=str(record_of(path)),
        job=Job(results, f"fuse_runs/{settings.name}/{DATASET}", "c0de"),
    )
    return path
