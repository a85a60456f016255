"""Rerankers that use the model of another system, which encodes queries and documents apart."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from beirflow.catalogue.schema import Problems, nearest
from beirflow.experiment.families import FAMILIES
from beirflow.runs.family import System

OWN = ("first", "depth", "below")
"""Settings of a reranker that its model has no say in."""


def with_scorers(
    systems: Mapping[str, System],
    entries: Mapping[str, Mapping[str, Any]],
    known: Mapping[str, System],
    path: str,
    problems: Problems,
) -> dict[str, System]:
    """Give rerankers that name a system in place of a model the model and the settings of that system."""
    every = {**known, **systems}
    found = dict(systems)
    for name, system in systems.items():
        family = FAMILIES[system.family]
        other = every.get(family.scored_by(system.settings) or "")
        if other is None:
            continue
        key = f"{path}.{name}"
        if not (scorer := _scorer(other)):
            able = [each for each in every if _scorer(every[each])]
            allowed = f"this system cannot score pairs; allowed are {', '.join(able)}"
            problems.add(f"{key}.model", other.name, f"{allowed}{nearest(other.name, able)}, a folder, or a hub id")
            continue
        for setting in sorted(set(entries[name]) - {*OWN, "family", "model"}):
            wrong = f"the system {other.name} defines its model and settings; remove this, or name the model itself"
            problems.add(f"{key}.{setting}", entries[name][setting], wrong)
        found[name] = replace(system, settings=family.with_scorer(system.settings, scorer))
    return found


def _scorer(system: System) -> Mapping[str, Any]:
    return FAMILIES[system.family].scorer(system.settings)
