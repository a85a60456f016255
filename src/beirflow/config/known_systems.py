"""The systems of an experiment for the rules: their families, settings, models and expansions, and what they are made from."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

from beirflow.config.datasets import Datasets
from beirflow.config.dependencies import needed
from beirflow.config.families import FAMILIES
from beirflow.families.expansions.models import expansion_files
from beirflow.families.expansions.settings import Expansion
from beirflow.families.family import Family
from beirflow.families.form import Form
from beirflow.families.system import System
from beirflow.models.settings import ModelSettings

GIVEN = "given"  # in place of a kind: read from files


class Expansions:
    """The expansions and the indexes of all known systems, each by its name; what several systems use is made once."""

    def __init__(self, systems: Iterable[System]) -> None:
        used = [(each.name, FAMILIES[each.family], each.settings) for each in systems]
        self._of_system: dict[str, Expansion | None] = {name: family.added(settings) for name, family, settings in used}
        self.indexes: dict[str, Any] = {index.name: index for _, family, settings in used for index in family.indexes(settings)}
        self.known = {added.name: added for added in self._of_system.values() if added}

    def of_kind(self, kind: str) -> list[str]:
        """Return the names of expansions by models of a kind, ``queries`` or ``weights``, or of those ``given`` in files."""
        return [name for name, each in self.known.items() if (GIVEN if each.path is not None else each.kind) == kind]

    def of_index(self, name: str) -> list[str]:
        """Return the name of the expansion of an index; none if there is none."""
        return [added for added in [self.indexes[name].expansion] if added]

    def of_system(self, name: str) -> list[str]:
        """Return the name of the expansion that a system searches or is made from; none if there is none."""
        added = self._of_system.get(name)
        return [added.name] if added else []

    def settings(self, name: str) -> dict[str, Any]:
        """Return the settings that determine an expansion, as parameters of a rule; those of its use have their defaults."""
        expansion = self.known[name]
        return {key: value for key, value in asdict(expansion).items() if key not in expansion.of_use}

    def files(self, name: str) -> list[str]:
        """Return the files of the model of an expansion that need no hub."""
        return [str(path) for path in expansion_files(self.known[name])]


@dataclass(frozen=True)
class Systems(Datasets):
    """Known and configured datasets and systems; ``systems`` has every known system by name, configured ones included."""

    systems: Mapping[str, System]
    families = FAMILIES  # every family by name
    with_needed = staticmethod(needed)

    @property
    def chosen_systems(self) -> list[str]:
        """Return the names of the configured systems."""
        return list(self.config["systems"])

    @property
    def needed_systems(self) -> list[str]:
        """Return the names of the configured systems, and after them of those whose runs they are made from."""
        return needed(self.chosen_systems, self.systems)

    def settings(self, system: str, *unused: str) -> dict[str, Any]:
        """Return the settings of a system, as parameters of a rule.

        ``unused`` do not change the result of the rule, so that a change of them reruns nothing.
        """
        return {key: value for key, value in self._settings[system].items() if key not in unused}

    @cached_property
    def _settings(self) -> dict[str, dict[str, Any]]:
        """Return the settings of every system, which rules ask for job by job."""
        return {name: asdict(system.settings) for name, system in self.systems.items()}

    def described(self, system: str) -> dict[str, Any]:
        """Return the family, the settings and the training data of a system, as they are described."""
        return {"family": self.systems[system].family, **self.settings(system), **self.training_data(system)}

    def training_data(self, system: str) -> dict[str, str]:
        """Return the training data of a system in words, as a setting; none of a system that learns nothing."""
        known = self.systems[system]
        return {"trained_on": known.trained_on.sentence} if self.family(system).learns(known.settings) else {}

    def family(self, system: str) -> Family:
        """Return the family of a system."""
        return FAMILIES[self.systems[system].family]

    def reuses(self, system: str) -> bool:
        """Test whether representations of one dataset are reused for equal texts of another."""
        return self.family(system).reuses(self.systems[system].settings)

    def form(self, system: str) -> Form | None:
        """Return the form in which the model of a system is made for each dataset; None if it has one model, or none."""
        form: Form | None = self.family(system).form(self.systems[system].settings)
        return form

    @cached_property
    def forms(self) -> dict[str, Form]:
        """Return the forms of all known systems by name, without variants of them."""
        formed = {name: form for name in self.systems if (form := self.form(name))}
        return {name: form for name, form in formed.items() if self.encoder_of(name) == name}

    def encoder_of(self, system: str) -> str:
        """Return the system whose model and representations a system uses: its own, unless it is a variant of another."""
        return self.family(system).in_paths(self.systems[system].settings)["system"]

    def systems_of(self, *families: str) -> list[str]:
        """Return the names of all known systems of some families, configured or not."""
        return [name for name, system in self.systems.items() if system.family in families]

    @property
    def merged_systems(self) -> list[str]:
        """Return the names of all known systems whose runs are merged from the candidates of chunks."""
        return [name for name in self.systems if not self.family(name).direct]

    def first_stages(self, system: str) -> list[str]:
        """Return the names of the systems whose runs a system is made from, in the order of its settings."""
        return list(self.family(system).reads(self.systems[system].settings).systems.values())

    def depth(self, system: str) -> int:
        """Return the number of documents for each query that a system ranks again, or retrieves."""
        depth, top_k = self.family(system).reads(self.systems[system].settings).depth, int(self.config["top_k"])
        return top_k if depth is None else min(depth, top_k)

    def model_settings(self, system: str) -> dict[str, Any]:
        """Return the place of a system's model: fields of :class:`~beirflow.models.settings.ModelSettings`."""
        settings = self.settings(system)
        return {field.name: settings[field.name] for field in fields(ModelSettings)}

    def configured_settings(self, system: str) -> list[str] | None:
        """Return the settings of an encoder that the configuration states; None for a family whose models have no card."""
        return self.family(system).configured_settings(self.systems[system].settings)

    @property
    def systems_with_models(self) -> list[str]:
        """Return the names of all known systems that have a model of their own."""
        return [name for name in self.systems if self.family(name).has_model and self.encoder_of(name) == name]

    def model_files(self, system: str) -> list[str]:
        """Return the files of a system's model that need no hub."""
        return [str(path) for path in self.family(system).model_files(self.systems[system].settings)]

    @cached_property
    def expansions(self) -> Expansions:
        """Return the additions to documents, and the indexes of lexical systems."""
        return Expansions(self.systems.values())
