"""The settings of an imported run."""

from dataclasses import dataclass
from pathlib import Path

DATASET = "{dataset}"  # placeholder for the name of a corpus in a path

OF_THE_DATASET = "candidates"
"""Word in place of a path: the candidates of each query, in the order in which the dataset states them."""


@dataclass(frozen=True)
class ImportedSettings:
    """Places of a system's runs; the schema checks the entries."""

    name: str
    run: str  # path of the run on a corpus, with "{dataset}" in place of its name; or OF_THE_DATASET

    @property
    def of_the_dataset(self) -> bool:
        """True if the dataset states the run."""
        return self.run == OF_THE_DATASET

    def path(self, dataset: str) -> Path:
        """Return the file of a corpus."""
        return Path(self.run.replace(DATASET, dataset)).expanduser()
