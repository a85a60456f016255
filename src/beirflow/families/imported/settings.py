"""The settings of an imported run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from beirflow.core.keys import HIDDEN, RunFile

DATASET = "{dataset}"  # placeholder for the name of a corpus in a path

OF_THE_DATASET = "candidates"
"""Word in place of a path: the candidates of each query, in the order in which the dataset states them."""


@dataclass(frozen=True)
class ImportedSettings:
    """A run from elsewhere, evaluated, compared, fused and audited like any other run."""

    name: Annotated[str, HIDDEN]
    run: RunFile
    """File of the run on a dataset, with {dataset} in place of its name, in TREC form, Parquet or JSON {query:
    {document: score}}; or candidates, those that a dataset states."""

    @property
    def of_the_dataset(self) -> bool:
        """True if the dataset states the run."""
        return self.run == OF_THE_DATASET

    def path(self, dataset: str) -> Path:
        """Return the file of a corpus."""
        return Path(self.run.replace(DATASET, dataset)).expanduser()
