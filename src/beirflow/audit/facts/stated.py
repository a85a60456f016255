"""Systems, as the manifest states them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from beirflow.audit.chain.chain import Chain
from beirflow.core.layout import EXPANSION, EXPANSION_RECORD
from beirflow.families.expansions.settings import Expansion
from beirflow.families.family import Family
from beirflow.models.settings import ONNX

ADDED = (EXPANSION, EXPANSION_RECORD)  # files of what some systems add to documents


@dataclass(frozen=True)
class StatedSystem:
    """A system of a known family."""

    name: str
    family: Family
    settings: Any  # as they are for a corpus, if one was named

    @property
    def added(self) -> Expansion | None:
        """Addition to documents; None without one."""
        added: Expansion | None = self.family.added(self.settings)
        return added

    @property
    def first_stages(self) -> list[str]:
        """Systems whose runs it is made from, in the order of its settings."""
        reads = self.family.reads(self.settings)
        return [] if reads.compared else list(reads.systems.values())

    @cached_property
    def in_paths(self) -> dict[str, str]:
        """Names in the paths of what it stores: as ``system`` the one that encodes for it."""
        return self.family.in_paths(self.settings) | ({"expansion": self.added.name} if self.added else {})

    def stores(self, names: Mapping[str, str]) -> bool:
        """Test whether something with these names in its path is of this system."""
        shared = {key: value for key, value in names.items() if key in ("analyzer", "expansion")}
        whose = names.get("system") in (None, self.name, self.in_paths["system"])
        return whose and all(self.in_paths.get(key) == value for key, value in shared.items())


def stated_system(chain: Chain, name: str, dataset: str | None = None) -> StatedSystem | None:
    """Return a system, with its settings as they are for a corpus if one is named; None if its family is unknown."""
    entry = chain.manifest["systems"].get(name, {})
    if chain.setup.unknown_in(entry):
        return None
    family = chain.setup.families[entry["family"]]
    settings = chain.setup.system_as_stated(name, entry).settings
    return StatedSystem(name, family, settings if dataset is None else family.for_dataset(settings, *chain.whole(dataset)))


def configured_precision(chain: Chain, system: str) -> str | None:
    """Return the precision that the configuration asks of a system, or of the one whose vectors or runs it uses.

    None means that the machine, an ONNX graph or a class of the user's own decides.
    """
    configured = chain.manifest["configuration"]["precision"]
    return None if configured == "auto" or _has_own_precision(chain, system) else configured


def _has_own_precision(chain: Chain, name: str) -> bool:
    settings, known = chain.manifest["systems"].get(name, {}).get("settings", {}), stated_system(chain, name)
    others = [settings.get("variant_of"), *(known.family.reads(known.settings).systems.values() if known else ())]
    own = bool(settings.get("encoder")) or str(settings.get("weights", "")).endswith(ONNX)
    return own or any(_has_own_precision(chain, other) for other in others if other)
