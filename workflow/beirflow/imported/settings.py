"""The settings of an imported run."""

from dataclasses import dataclass
from pathlib import Path

DATASET = "{dataset}"
"""Placeholder for the name of a corpus in a path."""


@dataclass(frozen=True)
class ImportedSettings:
    """Places of a system's runs; the schema checks the entries.

    Attributes:
        name: Name of the system.
        run: Path of the run on a corpus, with ``{dataset}`` in place of its name.
    """

    name: str
    run: str

    def path(self, dataset: str) -> Path:
        """The file of a corpus."""
        return Path(self.run.replace(DATASET, dataset)).expanduser()
