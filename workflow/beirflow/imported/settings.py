"""The settings of an imported run."""

from dataclasses import dataclass
from pathlib import Path

DATASET = "{dataset}"
"""What stands for the name of a corpus in a path."""


@dataclass(frozen=True)
class ImportedSettings:
    """Where the runs of a system are. The schema checks what may be written.

    Attributes:
        name: Name of the system.
        run: Path of the run on a corpus, with ``{dataset}`` in place of its name.
    """

    name: str
    run: str

    def path(self, dataset: str) -> Path:
        """The file of a corpus."""
        return Path(self.run.replace(DATASET, dataset)).expanduser()
