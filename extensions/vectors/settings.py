"""The settings of given vectors: the keys of a configuration, and what jobs have of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beirflow.core.keys import Similarity, matching
from beirflow.extensions.vectors.layout import FILES

Folder: Any = matching(
    r"[^{}<>\n]+",
    "a folder that holds for each dataset a folder of its name, with documents.npy, documents.txt, queries.npy and "
    "queries.txt; no braces, <, > and line feeds in its path",
)


@dataclass(frozen=True)
class VectorsKeys:
    """Vectors of texts from elsewhere, searched exactly and evaluated like those of any dense system."""

    vectors: Folder
    """Folder that holds for each dataset a folder of its name, with documents.npy, documents.txt, queries.npy and queries.txt."""
    similarity: Similarity
    """How two vectors are compared, as their model wants it: nothing here knows it."""


@dataclass(frozen=True)
class VectorsSettings:
    """The place of vectors, which may differ from machine to machine, and how they are compared."""

    name: str
    path: str
    similarity: str

    @property
    def vectors(self) -> str:
        """The place, as the configuration names it."""
        return self.path

    def files(self, dataset: str) -> dict[str, Path]:
        """Return the files of a dataset, or of one of its forums, by their names."""
        return {name: Path(self.path).expanduser() / dataset / name for name in FILES}
