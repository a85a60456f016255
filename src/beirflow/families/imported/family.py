"""The family of imported runs, as the experiment sees it."""

from pathlib import Path

from beirflow.families.family import Family, Stage
from beirflow.families.imported.settings import ImportedSettings


class ImportedFamily(Family):
    """Systems whose runs are read from files."""

    name = "run"
    settings = ImportedSettings
    implied_by = "run"
    direct = True
    other_stages = (Stage("import_run", row=4e-6),)

    def source(self, settings: ImportedSettings, dataset: str) -> Path | None:
        """Return the file that holds the run on a corpus; None if the dataset states it."""
        return None if settings.of_the_dataset else settings.path(dataset)

    def only_candidates(self, settings: ImportedSettings) -> bool:
        """Test whether runs are the candidates that datasets state."""
        return settings.of_the_dataset


FAMILY = ImportedFamily()
