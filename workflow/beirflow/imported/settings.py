"""The settings of an imported run."""

from dataclasses import dataclass
from pathlib import Path

DATASET = "{dataset}"  # placeholder for the name of a corpus in a path


@dataclass(frozen=True)
class ImportedSettings:
    """Places of a system's runs; the schema checks the entries."""

    name: str
    run: str  # path of the run on a corpus, with "{dataset}" in place of its name

    def path(self, dataset: str) -> Path:
        """Return the file of a corpus."""
        return Path(self.run.replace(DATASET, dataset)).expanduser()
