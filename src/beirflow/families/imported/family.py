"""The family of imported runs: its rule, files and checks."""

from pathlib import Path

from beirflow.core.digests import file_state
from beirflow.core.layout import QUERIES, RESULTS, RUN
from beirflow.families.family import Family
from beirflow.families.imported.settings import ImportedSettings
from beirflow.families.stage import TEXTS, Stage, Task, retrieval, run_settings


def _file(task: Task) -> str | None:
    """Return the file outside the results with the run; None for the candidates of the dataset."""
    path = FAMILY.source(task.own, task.experiment.datasets[task.wildcards["dataset"]].whole_name)
    return None if path is None else str(path)


class ImportedFamily(Family):
    """Systems whose runs are read from files."""

    name = "run"
    settings = ImportedSettings
    implied_by = "run"
    direct = True
    stages = (
        Stage(
            "import_run",
            "beirflow.families.imported.import_run:import_run",
            "import run {wildcards.system}/{wildcards.dataset}",
            reads={"source": lambda task: [_file(task) or QUERIES.below(RESULTS).format(**task.wildcards)], **TEXTS},
            makes={"run": RUN},
            params={
                "retrieval": retrieval,
                "run_settings": run_settings,
                "run_state": lambda task: file_state(_file(task)),
            },
            outside=True,
        ),
    )

    def source(self, settings: ImportedSettings, dataset: str) -> Path | None:
        """Return the file that holds the run on a corpus; None for the candidates of the dataset."""
        return None if settings.of_the_dataset else settings.path(dataset)

    def only_candidates(self, settings: ImportedSettings) -> bool:
        """Test whether runs are the candidates of the datasets."""
        return settings.of_the_dataset


FAMILY = ImportedFamily()
