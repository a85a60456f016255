"""From the configuration to the experiment: check it, and join it with the catalogue.

Every check adds its problems to one list and continues, so that a person reads all mistakes at once. Whatever
depends on something wrong is left out too, so that one mistake has one message.
"""

from collections.abc import Iterable, Mapping, Set
from typing import Any

from beirflow.config.checks import check_baseline, check_combinations, check_names, check_secrets
from beirflow.config.config_files import CONFIGURATION, check_config_files, key_places
from beirflow.config.configuration import defaults, problems_with, with_types
from beirflow.config.dependencies import tuning_rows
from beirflow.config.experiment import Experiment
from beirflow.config.main_measure import cutoff_of
from beirflow.config.source_checks import check_copies
from beirflow.config.systems import catalogue_systems, make_systems, split_entries, with_base, with_seeds
from beirflow.data.catalogue.catalogue import Catalogue, load_catalogue
from beirflow.data.catalogue.choice import chosen_names, corpora_named
from beirflow.data.catalogue.own_datasets import custom_dataset, folders_of
from beirflow.data.catalogue.schema import Problems
from beirflow.models.own_class import search_for_classes as search_for_classes

UNKNOWN: Mapping[str, Any] = {"systems": [], "datasets": [], "top_k": 1 << 60}
"""Values in place of wrong ones from which no other problem follows; for other keys that is the default."""

NO_WORDS: Set[str] = frozenset()

Entries = Mapping[str, Mapping[str, Any]]


def load_experiment(
    config: Mapping[str, Any], config_files: Iterable[str] = (), command: Set[str] = NO_WORDS, own_keys: Iterable[str] = ()
) -> Experiment:
    """Check the configuration and join it with the catalogue; nothing is read but the catalogue and the presence of files.

    ``config_files`` are the files from which Snakemake read it, ``command`` the words of the command that plans a run of it,
    ``own_keys`` the keys that the command states itself.

    Raise ConfigError for an unknown key or name, a value that is not allowed, or an impossible combination; the message lists
    every problem with the key's path, what was found, what is allowed and the nearest name.
    """
    config_files = list(config_files)
    check_config_files(config_files)
    catalogue, of_bases = load_catalogue(), Problems()
    config = _spelled_out(with_types(config), catalogue, of_bases)
    problems = problems_with(config)
    problems.extend(of_bases)
    config = without_wrong_keys(config, defaults(), problems)
    entries = {kind: (config["custom"] or {}).get(kind) or {} for kind in ("systems", "datasets")}
    own = {kind: without_wrong_entries(kind, entries[kind], problems) for kind in entries}
    split = split_entries(own["systems"], "custom.systems", problems)
    made = make_systems(own["systems"], catalogue_systems(), "custom.systems", problems)
    check_secrets(own["systems"], problems)
    own = {kind: without_wrong_entries(kind, entries[kind], problems) for kind in entries}
    # What could not be made is wrong as well, and so is what names it.
    split = {name: split[name] for name in own["systems"]}
    systems = {name: made[name] for names in split.values() for name in names}
    rows = {name: custom_dataset(name, entry) for name, entry in own["datasets"].items()}
    named = [config["systems"]] if isinstance(config["systems"], str) else config["systems"]
    listed = [system for name in named for system in split.get(name, [name])]
    config |= {"systems": listed, "datasets": chosen_names(config, catalogue, problems)}
    config |= {"custom": own} if problems.lines else {}
    check_names(config, catalogue, {**entries["systems"], **systems}, rows, set(entries["datasets"]) - set(rows), problems)
    # After a message about a name that is taken, what the project knows counts.
    all_systems = {**catalogue_systems(), **systems, **catalogue_systems()}
    all_rows = {**catalogue.known_datasets, **rows, **catalogue.known_datasets}
    if config["baseline"] not in entries["systems"] or config["baseline"] in systems:
        check_baseline(config, problems)
    config["systems"] = [name for name in config["systems"] if name in all_systems]
    chosen = [] if config["datasets"] == "all" else config["datasets"]
    all_rows |= {name: corpora for name in chosen if (corpora := corpora_named(name, all_rows))}
    chosen = [name for name in chosen if name in all_rows]
    config |= {"datasets": chosen} if config["datasets"] != "all" else {}
    config |= main_measure_of(chosen, config, catalogue)
    evaluated = [corpus for row in (catalogue.datasets if config["datasets"] == "all" else chosen) for corpus in all_rows[row]]
    tuned_on = tuning_rows([(name, corpus) for name in config["systems"] for corpus in evaluated], all_systems, all_rows)
    # Every rule has the names of all datasets in its pattern: those of collections, which are many, only where they are used.
    used = {*chosen, *tuned_on}
    all_rows = {name: corpora for name, corpora in (all_rows | tuned_on).items() if name in used or not corpora[0].collection}
    experiment = Experiment(
        config=config,
        catalogue=catalogue,
        systems=all_systems,
        rows=all_rows,
        datasets={dataset.name: dataset for datasets in all_rows.values() for dataset in datasets},
    )
    check_combinations(experiment, problems)
    if command and not problems.lines:
        check_copies(experiment, command, problems)
    problems.raise_if_any(CONFIGURATION, key_places(config_files, own_keys) if problems.lines else None)
    return experiment


def _spelled_out(config: dict[str, Any], catalogue: Catalogue, problems: Problems) -> dict[str, Any]:
    """Return a configuration whose systems have the settings of their bases, one a seed; datasets include folders of data_dir."""
    custom = config.get("custom") or {}
    if not isinstance(custom, Mapping):
        return config
    given = {kind: custom.get(kind) or {} for kind in ("systems", "datasets")}
    made: dict[str, Mapping[str, Any]] = {}
    if isinstance(given["systems"], Mapping):
        based = {name: with_base(name, entry, given["systems"], problems) for name, entry in given["systems"].items()}
        seeds = {name: with_seeds(name, entry, problems) for name, entry in based.items()}
        made["systems"] = {each: entry for entries in seeds.values() for each, entry in entries.items()}
        named = config.get("systems")
        names = [named] if isinstance(named, str) else named
        if isinstance(names, list):
            config = config | {"systems": [each for name in names for each in seeds.get(str(name), [name])]}
    if isinstance(given["datasets"], Mapping):
        known = {**catalogue.known_datasets, **catalogue.newer.collections, **given["datasets"]}
        made["datasets"] = {**given["datasets"], **folders_of(config.get("data_dir"), config.get("datasets"), known)}
    made = {kind: entries for kind, entries in made.items() if entries}
    return config | {"custom": {**custom, **made}} if made else config


def main_measure_of(chosen: Iterable[str], config: Mapping[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    """Return the main measure that the collections of all chosen datasets share, if none is configured and its cutoff is."""
    if config["main_measure"] is not None or config["datasets"] == "all":
        return {}
    measures = {catalogue.own_measure(name) for name in chosen}
    shared = measures.pop() if len(measures) == 1 else None
    return {"main_measure": shared} if shared and cutoff_of(shared) in config["cutoffs"] else {}


def without_wrong_keys(config: Mapping[str, Any], defaults: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    """Return a configuration with defaults for missing keys, and harmless values for wrong keys at the top level.

    ``custom`` stays as it is, unless it is no mapping of mappings.
    """
    wrong = {key.partition(".")[0] for key in problems.keys} - {"custom"}
    # Names cannot be checked if their definitions cannot be read.
    undefined = {kind for kind in ("systems", "datasets") if {"custom", f"custom.{kind}"} & set(problems.keys)}
    wrong |= {"custom", *undefined} if undefined else set()
    return {**defaults, **config, **{key: UNKNOWN.get(key, defaults.get(key)) for key in wrong}}


def without_wrong_entries(kind: str, entries: Entries, problems: Problems) -> dict[str, Mapping[str, Any]]:
    """Return the entries of ``custom`` that are right, and name none that is wrong, directly or through others.

    ``kind`` is ``systems`` or ``datasets``.
    """
    paths = {name: f"custom.{kind}.{name}" for name in entries}
    wrong = {name for name, path in paths.items() for key in problems.keys if key == path or key.startswith(f"{path}.")}
    # An entry that names a wrong one is wrong too, and so on.
    while more := {name for name, entry in entries.items() if name not in wrong and not wrong.isdisjoint(_strings(entry))}:
        wrong |= more
    return {name: entry for name, entry in entries.items() if name not in wrong}


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(each)
