"""The family of imported runs, as the experiment sees it."""

from pathlib import Path

from beirflow.imported.settings import ImportedSettings
from beirflow.runs.family import Family, Stage


class ImportedFamily(Family):
    """Systems whose runs are read from files."""

    name = "run"
    settings = ImportedSettings
    implied_by = "run"
    direct = True
    spot_checks = "beirflow.imported.spot_check:spot_checks"
    follows = "beirflow.imported.spot_check:spot_checks"
    other_stages = (Stage("import_run", row=4e-6),)

    def source(self, settings: ImportedSettings, dataset: str) -> Path:
        """Return the file that holds the run on a corpus."""
        return settings.path(dataset)


FAMILY = ImportedFamily()
