"""Fused runs, made in this process by the runner as the job of a rule."""

from pathlib import Path

import steps
from beirflow.core.layout import CORPUS, QRELS, QUERIES, RUN, record_of
from beirflow.core.records import Job
from beirflow.families.fusion.fuse_runs import fuse_runs
from beirflow.families.fusion.settings import FusionSettings
from beirflow.ranking.run_file import NewRun
from run_results import DATASET


def fuse_systems(results: Path, settings: FusionSettings, top_k: int = 10, tuned_on: str | None = None) -> Path:
    """Fuse the runs of a system's systems; gives the path of the run."""

    def files(dataset: str, prefix: str = "") -> dict[str, str | list[str]]:
        patterns = {"queries": QUERIES, "qrels": QRELS, "corpus": CORPUS}
        found = {f"{prefix}{name}": str(results / pattern(dataset=dataset)) for name, pattern in patterns.items()}
        return {**found, f"{prefix}runs": [str(results / RUN(system=name, dataset=dataset)) for name in settings.of]}

    own, path = files(DATASET), results / RUN(system=settings.name, dataset=DATASET)
    del own["qrels"]
    steps.run(
        fuse_runs,
        Job(results, f"fuse_runs/{settings.name}/{DATASET}", "c0de"),
        [str(path), str(record_of(path))],
        **own,
        **(files(tuned_on, "tuning_") if tuned_on else {}),
        settings=settings,
        run=NewRun(settings.name, DATASET, top_k, {}),
        tuned_on=tuned_on,
        measure="beirflow.evaluation.measures:measure",
        main_measure="NDCG@10",
    )
    return path
