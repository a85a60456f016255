"""Systems, from the catalogue or the configuration; some inherit the settings of another system."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any

from beirflow.config.families import DEFAULT, FAMILIES, family_of
from beirflow.core.extensions import extensions, forms
from beirflow.data.catalogue.catalogue import mteb_tasks
from beirflow.data.catalogue.schema import CATALOGUE, Problems, choices, read_yaml
from beirflow.families.system import System, TrainedOn
from beirflow.models.settings import INSTRUCTION, ModelSettings

OWN = ("first", "depth", "below")  # settings of a reranker that do not depend on its model

NEEDS = "needs"  # key of an entry of the catalogue: the extension that makes the system

DRAWN = (*forms(), "expansion")  # settings that have a ``seed``


@cache
def catalogue_systems() -> Mapping[str, System]:
    """Return the systems of the catalogue by name.

    Raise ConfigError if a system names another that it cannot be made from.
    """
    problems = Problems()
    systems = make_systems(_catalogue_entries(), {}, "systems", problems)
    problems.raise_if_any(f"catalogue file {CATALOGUE / 'systems.yaml'}")
    return systems


@cache
def _catalogue_entries() -> Mapping[str, Mapping[str, Any]]:
    every = read_yaml(CATALOGUE / "systems.yaml")
    entries = {name: {key: entry[key] for key in entry if key != NEEDS} for name, entry in every.items()}
    return {name: entry for name, entry in entries.items() if name not in absent_systems()}


@cache
def absent_systems() -> Mapping[str, str]:
    """Return by name the systems of the catalogue that need an extension that is not here, with its name."""
    needed = {name: entry[NEEDS] for name, entry in read_yaml(CATALOGUE / "systems.yaml").items() if NEEDS in entry}
    here = {extension.folder.name for extension in extensions()}
    return {name: extension for name, extension in needed.items() if extension not in here}


def instead_of(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return, of a system that is not known here, the extension that it needs; else the systems that can replace it."""
    if extension := absent_systems().get(name):
        return f"this system of the catalogue needs the extension {extension!r}, which is not installed here"
    return choices(name, known) + otherwise


def with_base(name: str, entry: Any, entries: Mapping[str, Any], problems: Problems, above: tuple[str, ...] = ()) -> Any:
    """Return an entry of ``custom.systems`` with the settings of its base, which may have a base too, and its own.

    An entry with a form keeps its base, which its model begins as; a malformed one stays as it is. ``above`` are the entries
    that lead here.
    """
    if not isinstance(entry, Mapping) or not isinstance(entry.get("base"), str) or forms().keys() & entry:
        return entry
    base, known = entry["base"], {**_catalogue_entries(), **entries}
    above = (*above, name)
    inherited = known.get(base)
    if base in above or not isinstance(inherited, Mapping):
        names = [each for each in known if each not in above]
        problems.add(f"custom.systems.{above[0]}.base", base, instead_of(base, names))
        return _catalogue_entries()["bm25"]  # from which no other problem follows
    inherited = with_base(base, inherited, entries, problems, above)
    changes = {key: value for key, value in entry.items() if key != "base"}
    # Revision, digests and training data are those of the model of the base.
    dropped = {"trained_on", *(field.name for field in fields(ModelSettings))} if "model" in changes else set()
    return {**{key: value for key, value in inherited.items() if key not in dropped}, **changes}


def with_seeds(name: str, entry: Any, problems: Problems) -> dict[str, Any]:
    """Return an entry of ``custom.systems`` for each of its seeds, by names such as ``genq-seed-1``; itself without ``seeds``."""
    if not isinstance(entry, Mapping) or "seeds" not in entry:
        return {name: entry}
    seeds, once = entry["seeds"], {key: value for key, value in entry.items() if key != "seeds"}
    drawn = next((key for key in DRAWN if isinstance(once.get(key), Mapping) and "path" not in once[key]), None)
    if drawn is None:
        reason = f"only systems that draw something have seeds: where a model writes queries ({' or '.join(DRAWN)}); remove it"
    elif not isinstance(seeds, list) or len(seeds) < 2 or len(set(map(str, seeds))) < len(seeds):
        reason = "expected a list of at least two different whole numbers"
    else:
        return {f"{name}-seed-{seed}": {**once, drawn: {**once[drawn], "seed": seed}} for seed in seeds}
    problems.add(f"custom.systems.{name}.seeds", seeds, reason)
    return {name: once}


def make_system(name: str, entry: Mapping[str, Any]) -> System:
    """Return a system, with the settings of its family, from an entry that its schema has checked."""
    trained_on = _trained_on(entry)
    entry = {key: value for key, value in entry.items() if key != "trained_on"}
    if INSTRUCTION in str(entry.get("query_prefix", "")):
        entry = {**entry, "instructions": {**_instructions(), **entry.get("instructions", {})}}
    family = family_of(entry)
    if entry.get("encoder") and "model" not in entry and family.name == DEFAULT:
        entry = {**entry, "tasks": _tasks()}
    return replace(family.system(name, entry), trained_on=trained_on)


def _trained_on(entry: Mapping[str, Any], other: TrainedOn | None = None) -> TrainedOn:
    """Return the training data that an entry states, else those of another system, else that they are not stated."""
    return TrainedOn(**entry["trained_on"]) if "trained_on" in entry else other or TrainedOn()


@cache
def _instructions() -> dict[str, str]:
    """Return by dataset the instruction for its queries."""
    instructions: dict[str, str] = read_yaml(CATALOGUE / "instructions.yaml")["instructions"]
    return instructions


@cache
def _tasks() -> dict[str, str]:
    """Return by dataset and by forum the name of its task in MTEB."""
    datasets: dict[str, Any] = read_yaml(CATALOGUE / "datasets.yaml")["datasets"]
    return {name: task.name for name, task in mteb_tasks(datasets).items()}


def split_entries(
    entries: Mapping[str, Mapping[str, Any]], path: str, problems: Problems
) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Return, by name of an entry, the entries of the systems that it defines, by their names."""
    split = {name: dict(family_of(entry).split_entry(name, entry)) for name, entry in entries.items()}
    for name, systems in split.items():
        for each in (each for each in systems if each != name):
            problems.entries[f"{path}.{each}"] = f"{path}.{name}"
            if each in entries:
                problems.add(
                    f"{path}.{name}", each, "another system has the name of one that this defines; rename one of the two"
                )
    return split


def make_systems(
    entries: Mapping[str, Mapping[str, Any]], known: Mapping[str, System], path: str, problems: Problems
) -> dict[str, System]:
    """Return systems by name from entries that their schema has checked; ``known`` are those that are defined elsewhere.

    A variant, or one with a form, has the settings of the system that it names, and its own. A reranker may name a system in
    place of a model. Variants of what cannot be varied are left out, as are those that begin as what none can begin as.
    """
    entries = {name: entry for systems in split_entries(entries, path, problems).values() for name, entry in systems.items()}
    formed = {name: entry for name, entry in entries.items() if "base" in entry}
    variants = {name: entry for name, entry in entries.items() if "variant_of" in entry}
    systems = {name: make_system(name, entry) for name, entry in entries.items() if name not in {**variants, **formed}}
    # Those with vectors of their own: others can begin as they do, or vary them.
    encoding = {name: each for name, each in {**known, **systems}.items() if each.family == DEFAULT}
    possible = {name: each for name, each in encoding.items() if not each.settings.variant_of}
    for name, entry in formed.items():
        base, form = entry["base"], {key: entry[key] for key in forms() if key in entry}
        if not form:
            problems.add(f"{path}.{name}.base", base, f"expected the name of a system; {choices(base, possible)}")
        elif isinstance(base, Mapping) or base in possible:
            begun = make_system(name, base) if isinstance(base, Mapping) else possible[base]
            settings = replace(begun.settings, name=name, **form)
            systems[name] = System(name, DEFAULT, settings, _trained_on(entry, begun.trained_on))
        else:
            allowed = f"expected the settings of an encoder, or a dense system that encodes; {choices(base, possible)}"
            problems.add(f"{path}.{name}.base", base, allowed)
    possible |= {name: systems[name] for name in formed if name in systems}
    for name, entry in variants.items():
        other = entry["variant_of"]
        if other in possible:
            names = {"dimensions": "stored_dimensions"}
            given = {names.get(key, key): value for key, value in entry.items() if key != "family"}
            settings = replace(possible[other].settings, name=name, **given)
            systems[name] = System(name, DEFAULT, settings, possible[other].trained_on)
        else:
            allowed = f"expected a dense system that encodes; {choices(other, possible)}"
            problems.add(f"{path}.{name}.variant_of", other, allowed)
    return with_scorers({name: systems[name] for name in entries if name in systems}, entries, known, path, problems)


def with_scorers(
    systems: Mapping[str, System],
    entries: Mapping[str, Mapping[str, Any]],
    known: Mapping[str, System],
    path: str,
    problems: Problems,
) -> dict[str, System]:
    """Give rerankers that name a system in place of a model the model and the settings of that system."""
    every = {**known, **systems}
    scored = dict(systems)
    for name, system in systems.items():
        family = FAMILIES[system.family]
        other = every.get(family.scored_by(system.settings) or "")
        if other is None:
            continue
        key = f"{path}.{name}"
        if not (scorer := _scorer(other)):
            able = [each for each in every if _scorer(every[each])]
            allowed = f"this system cannot score pairs; name a folder, a hub id, or one that can: {choices(other.name, able)}"
            problems.add(f"{key}.model", other.name, allowed)
            continue
        for setting in sorted(set(entries[name]) - {*OWN, "family", "model", "trained_on"}):
            wrong = f"the system {other.name} defines its model and settings; remove this, or name the model itself"
            problems.add(f"{key}.{setting}", entries[name][setting], wrong)
        trained_on = _trained_on(entries[name], other.trained_on)
        scored[name] = replace(system, settings=family.with_scorer(system.settings, scorer), trained_on=trained_on)
    return scored


def _scorer(system: System) -> Mapping[str, Any]:
    return FAMILIES[system.family].scorer(system.settings)
