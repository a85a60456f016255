"""Rerankers that use the model of another system, which encodes queries and documents apart."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from beirflow.catalogue.schema import Problems, nearest
from beirflow.dense.settings import DenseSettings
from beirflow.late.settings import LateSettings
from beirflow.models.settings import ModelSettings
from beirflow.rerank.settings import RerankSettings
from beirflow.runs.family import System

OWN = ("first", "depth", "below")
"""Settings of a reranker that its model has no say in."""

MODEL = tuple(field.name for field in fields(ModelSettings) if field.name != "name")


def with_scorers(
    systems: Mapping[str, System],
    entries: Mapping[str, Mapping[str, Any]],
    known: Mapping[str, System],
    path: str,
    problems: Problems,
) -> dict[str, System]:
    """Give rerankers that name a system in place of a model the model and the settings of that system.

    Args:
        systems: By name, systems as their entries alone make them.
        entries: Their entries.
        known: Systems that are defined elsewhere.
        path: Path of the key that holds the entries.
        problems: Where what is wrong is added.

    Returns:
        By name, the same systems.
    """
    every = {**known, **systems}
    found = dict(systems)
    for name, system in systems.items():
        if isinstance(system.settings, RerankSettings) and system.settings.model in every:
            other = every[system.settings.model]
            key = f"{path}.{name}"
            if (scoring := _scoring(system.settings, other)) is None:
                able = [each for each in every if _encodes(every[each])]
                allowed = f"this system cannot score pairs; allowed are {', '.join(able)}"
                problems.add(f"{key}.model", other.name, f"{allowed}{nearest(other.name, able)}, a folder, or a hub id")
                continue
            for setting in sorted(set(entries[name]) - {*OWN, "family", "model"}):
                wrong = f"the system {other.name} defines its model and settings; remove this, or name the model itself"
                problems.add(f"{key}.{setting}", entries[name][setting], wrong)
            found[name] = replace(system, settings=scoring)
    return found


def _encodes(system: System) -> bool:
    """Whether a system has one model for all datasets, which encodes queries and documents apart, and compares all of it."""
    if isinstance(system.settings, DenseSettings):
        return system.settings.variant_of is None and system.settings.train is None
    return isinstance(system.settings, LateSettings)


def _scoring(settings: RerankSettings, other: System) -> RerankSettings | None:
    """A reranker with the model and the settings of another system; None where that scores no pairs."""
    if not _encodes(other):
        return None
    model = {key: getattr(other.settings, key) for key in MODEL}
    own = {"dense": other.settings} if isinstance(other.settings, DenseSettings) else {"late": other.settings}
    return replace(settings, **model, **own)
