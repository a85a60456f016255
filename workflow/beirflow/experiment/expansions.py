"""Expansions and the resulting indexes, by their names in paths."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from beirflow.expansions.models import expansion_files
from beirflow.expansions.settings import Expansion
from beirflow.experiment.families import FAMILIES
from beirflow.runs.system import System

GIVEN = "given"  # in place of a kind: read from files


class Expansions:
    """The expansions and the indexes of all known systems; what several systems use is made once."""

    def __init__(self, systems: Iterable[System]) -> None:
        used = [(each.name, FAMILIES[each.family], each.settings) for each in systems]
        self._of_system: dict[str, Expansion | None] = {name: family.added(settings) for name, family, settings in used}
        self._indexes = {index.name: index for _, family, settings in used for index in family.indexes(settings)}
        self._all = {added.name: added for added in self._of_system.values() if added}

    @property
    def indexes(self) -> list[str]:
        """Return the names of all indexes."""
        return list(self._indexes)

    def index(self, name: str) -> Any:
        """Return the settings of an index."""
        return self._indexes[name]

    def of_kind(self, kind: str) -> list[str]:
        """Return the names of expansions by models of a kind, ``queries`` or ``weights``, or of those ``given`` in files."""
        return [name for name, each in self._all.items() if (GIVEN if each.path is not None else each.kind) == kind]

    def of_index(self, name: str) -> list[str]:
        """Return the name of the expansion of an index; none if there is none."""
        return [added for added in [self._indexes[name].expansion] if added]

    def of_system(self, name: str) -> list[str]:
        """Return the name of the expansion that a system searches or is trained on; none if there is none."""
        added = self._of_system.get(name)
        return [added.name] if added else []

    def settings(self, name: str) -> dict[str, Any]:
        """Return the settings that determine an expansion, as parameters of a rule; those of its use have their defaults."""
        expansion = self._all[name]
        return {key: value for key, value in asdict(expansion).items() if key not in expansion.of_use}

    def kind(self, name: str) -> str:
        """Return ``queries`` or ``weights``."""
        return self._all[name].kind

    def files(self, name: str) -> list[str]:
        """Return the files of the model of an expansion that need no hub."""
        return [str(path) for path in expansion_files(self._all[name])]

    def file(self, name: str, dataset: str) -> str:
        """Return the file that holds an expansion for a corpus."""
        return str(self._all[name].file(dataset))
