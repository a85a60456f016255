"""The systems and the experiment of a manifest, for an audit."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from beirflow.config.configuration import defaults
from beirflow.config.experiment import TUNED_ON, Experiment
from beirflow.config.families import DEFAULT, FAMILIES
from beirflow.config.systems import catalogue_systems, make_system, make_systems
from beirflow.data.catalogue.dataset import Dataset
from beirflow.data.catalogue.schema import Problems
from beirflow.data.sources.forms import form_of
from beirflow.families.system import System


def unknown_in(entry: Mapping[str, Any]) -> str:
    """Return in words what nothing here knows of an entry of a manifest, its family or a setting; empty if all is known."""
    family = FAMILIES.get(str(entry.get("family")))
    if family is None:
        return str(entry.get("family"))
    known = {field.name for field in fields(family.settings)}
    unknown = [key for key, value in entry["settings"].items() if key not in known and value is not None]
    return f"{family.name} with {', '.join(unknown)}, of an extension that is not installed" if unknown else ""


def recorded_system(name: str, entry: Mapping[str, Any]) -> System:
    """Return the system that an entry of a manifest states. Raise ValueError for one that nothing here knows."""
    if unknown := unknown_in(entry):
        raise ValueError(f"nothing here knows the family {unknown}")
    known = {field.name for field in fields(FAMILIES[entry["family"]].settings)} - {"name"}
    # Without a value, a setting of an extension that is not installed decides nothing.
    settings = {key: value for key, value in entry["settings"].items() if key in known}
    return make_system(name, {"family": entry["family"], **settings, "trained_on": entry.get("trained_on", {})})


def configured_systems(entries: Mapping[str, Mapping[str, Any]]) -> Mapping[str, System]:
    """Return the systems of the catalogue and those that a configuration defines, if their families are known."""
    known = catalogue_systems()
    entries = {name: entry for name, entry in entries.items() if entry.get("family", DEFAULT) in FAMILIES}
    return {**known, **make_systems(entries, known, "custom.systems", Problems())}


def experiment_of(manifest: Mapping[str, Any], documents: Mapping[str, int], auditor: Experiment) -> Experiment:
    """Return the experiment that a manifest states, with the catalogue of an auditor; ``documents`` are counted by corpus."""
    recorded, rows = manifest["configuration"], {**manifest.get(TUNED_ON, {}), **manifest["datasets"]}
    config = {**defaults(), **recorded, "datasets": list(manifest["datasets"]), "extra_judgements": {}, "command": None}
    made = {
        row: tuple(
            Dataset(**{**corpus, "form": form_of(corpus["form"]), "documents": documents.get(corpus["name"]), "path": None})
            for corpus in corpora
        )
        for row, corpora in rows.items()
    }
    every = {**auditor.catalogue.known_datasets, **made}
    return Experiment(
        config=config,
        catalogue=auditor.catalogue,
        systems={name: recorded_system(name, entry) for name, entry in manifest["systems"].items()},
        rows=every,
        datasets={dataset.name: dataset for datasets in every.values() for dataset in datasets},
    )
