"""Experiment of a manifest, compared with the catalogue and with the configuration of the auditor."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, WARNING, Check
from beirflow.audit.folder.reading import part, short
from beirflow.config.configuration import KEYS, problems_with
from beirflow.config.experiment import TUNED_ON, Experiment
from beirflow.config.from_manifest import configured_systems, experiment_of, recorded_system, unknown_in
from beirflow.config.main_measure import cutoff_of, main_measure
from beirflow.config.systems import catalogue_systems
from beirflow.core.digests import file_digest
from beirflow.core.layout import ARCHIVE, CORPUS, MANIFEST, METRICS, SUMMARY
from beirflow.data.catalogue.choice import check_own_names, corpora_named
from beirflow.data.catalogue.dataset import Dataset
from beirflow.data.catalogue.own_datasets import custom_dataset
from beirflow.data.catalogue.schema import CATALOGUE, NO_SUCH_KEY, Problems
from beirflow.families.system import System, of_datasets
from beirflow.ranking.run_settings import OF_THE_CORPUS, PLACES, without_places

NAME = "the manifest matches its configuration"

BY_CATALOGUE, BY_AUDITOR, BY_CONFIGURATION = "the catalogue here", "your configuration", f"the configuration in {MANIFEST}"

OF_A_CORPUS = (*OF_THE_CORPUS, "name", "row", "archive", "md5", "relevant_from")
"""Fields of a dataset that do not depend on the machine or on the content of its files."""


class Configured(NamedTuple):
    """Experiment of a manifest, as far as it is known here."""

    experiment: Experiment  # without unknown systems; places of models and datasets are those of the auditor
    auditor: Experiment  # configuration of the auditor
    known: frozenset[str]  # systems with settings of the catalogue or of the auditor, whose models and files may be opened
    places: Mapping[str, str]  # by folder or file of the auditor, the one in the manifest for the same system
    unknown: Mapping[str, str]  # by unknown system, or one that reads the run of one, what is unknown

    def knows(self, names: Mapping[str, str]) -> bool:
        """Test whether the model or the file of the system or the expansion in the path of a file is one of the auditor."""
        added = {name for system in self.known for name in self.experiment.expansions.of_system(system)}
        return names["expansion"] in added if "expansion" in names else names.get("system") in self.known


def configured_experiment(chain: Chain, auditor: Experiment) -> Configured:
    """Return the experiment of a manifest, with the places of the auditor; RecordError or ValueError for an impossible one."""
    manifest = chain.manifest
    entries = part(manifest, "systems", kind=dict)
    unknown = {name: kind for name, entry in entries.items() if (kind := unknown_in(entry))}
    systems = {name: recorded_system(name, entry) for name, entry in entries.items() if name not in unknown}
    while lost := {
        name: unknown[other]
        for name, system in systems.items()
        for other in auditor.families[system.family].reads(system.settings).systems.values()
        if other in unknown
    }:
        unknown |= lost
        systems = {name: system for name, system in systems.items() if name not in lost}
    chosen = [name for name in manifest["configuration"]["systems"] if name in systems]
    configuration = {**manifest["configuration"], "systems": chosen}
    kept = {**manifest, "configuration": configuration, "systems": {name: entries[name] for name in systems}}
    records = ((name, chain.records.get(CORPUS(dataset=name))) for name in chain.corpora)
    documents = {name: part(record, "counts", "documents", kind=int) for name, record in records if record is not None}
    experiment = experiment_of(kept, documents, auditor)
    known = {
        name: here
        for name, system in systems.items()
        if (here := auditor.systems.get(name)) and _same(chain, auditor, system, here)
    }
    datasets = {
        # For a sample of the documents, the number of documents of the source determines which are drawn.
        name: replace(dataset, path=folder, documents=(auditor.datasets[name] if dataset.sample_documents else dataset).documents)
        for name, dataset in experiment.datasets.items()
        if name in auditor.datasets and auditor.datasets[name].form == dataset.form
        if (folder := auditor.folder(name)) and Path(folder).exists()
    }
    machine = {key: auditor.config[key] for key in ("device", "token_budget", "jobs_per_gpu")}
    config = {**experiment.config, **machine, "data_dir": None}
    here_too = {name: replace(here, trained_on=systems[name].trained_on) for name, here in known.items()}
    experiment = replace(
        experiment, config=config, systems={**experiment.systems, **here_too}, datasets={**experiment.datasets, **datasets}
    )
    pairs = [(asdict(here.settings), asdict(systems[name].settings)) for name, here in known.items()]
    places = [(own.get(key), other.get(key)) for own, other in pairs for key in PLACES]
    moved = {own: other for own, other in places if own != other and isinstance(own, str) and isinstance(other, str)}
    return Configured(experiment, auditor, frozenset(known), moved, unknown)


def _same(chain: Chain, auditor: Experiment, system: System, other: System) -> bool:
    """Test whether two systems are the same, and store their files at the same paths, apart from the places of their sources."""
    if system.family != other.family:
        return False
    family, known = auditor.families[system.family], list[Any]()
    for settings, entry in ((each.settings, comparable(chain, as_json(asdict(each)))) for each in (system, other)):
        added = family.added(settings)
        known.append((without_places(entry["settings"]), family.in_paths(settings), added and added.name))
    return bool(known[0] == known[1])


def check_configured(chain: Chain, auditor: Experiment) -> Iterator[Check]:
    """Compare a manifest with its configuration, with the catalogue, and with the configuration of the auditor."""
    manifest = chain.manifest
    configuration = part(manifest, "configuration", kind=dict)
    if list(part(manifest, "outputs", kind=dict)) != [SUMMARY]:
        yield chain.failed(NAME, MANIFEST, f"{MANIFEST} names {', '.join(manifest['outputs'])} as its outputs", SUMMARY)
    unknown = tuple(
        f"custom.systems.{name}." for name, entry in part(manifest, "systems", kind=dict).items() if unknown_in(entry)
    )
    for problem in _problems(chain, auditor):
        is_of_extension = problem.startswith(unknown) or (NO_SUCH_KEY in problem and "custom.datasets." not in problem)
        status = NOT_CHECKED if is_of_extension else FAILED
        yield Check(NAME, status, f"{MANIFEST}: error in its configuration: {problem}", "", (MANIFEST,))
    yield from _check_names(chain, auditor)
    requested = auditor.config["precision"]
    if requested not in ("auto", configuration["precision"]):
        found = f"precision: these results have {configuration['precision']}, your configuration {requested}"
        yield Check(NAME, NOT_CHECKED, f"{found}; the sample is computed in yours", "", (MANIFEST,))
    for name, entry in part(manifest, "systems", kind=dict).items():
        yield from _check_system(chain, auditor, name, entry)
    rows = [("datasets", row) for row in part(manifest, "datasets", kind=dict)] + [
        (TUNED_ON, row) for row in manifest.get(TUNED_ON, {})
    ]
    for key, row in rows:
        yield from _check_dataset(chain, auditor, key, row)
    archives = {
        corpus.archive: corpus.md5 for row in auditor.catalogue.known_datasets.values() for corpus in row if corpus.archive
    }
    for archive, md5 in archives.items():
        path = ARCHIVE(archive=archive)
        if path in chain.listing.files and (found := file_digest(chain.file(path), "md5")) != md5:
            yield chain.failed(NAME, path, f"{path} has the md5 {found}", f"{md5}, by {BY_CATALOGUE}")
    if part(manifest, "published_sha256") != file_digest(CATALOGUE / "published.yaml"):
        found = "published scores come from another catalogue than the one here"
        yield Check(NAME, WARNING, found, "the catalogue that the manifest names", (MANIFEST,))
    yield Check(NAME, PASSED, f"{len(manifest['systems'])} systems and {len(rows)} datasets were compared")


def _problems(chain: Chain, auditor: Experiment) -> list[str]:
    """Return the problems of the configuration."""
    configuration = chain.manifest["configuration"]
    lines = problems_with({key: value for key, value in configuration.items() if key in KEYS}).lines
    if not lines:
        problems = Problems()
        for name in _custom(chain, "systems").keys() & catalogue_systems().keys():
            problems.add(f"custom.systems.{name}", name, "the catalogue has a system of this name")
        check_own_names(_defined(chain), auditor.catalogue, problems)
        lines = problems.lines
    lines += [f"{key}: {NO_SUCH_KEY}" for key in sorted(configuration.keys() - KEYS.keys())]
    if (baseline := configuration.get("baseline")) not in (None, *configuration["systems"]):
        lines.append(f"the baseline {baseline!r} is no configured system")
    if cutoff_of(main_measure(configuration)) not in configuration["cutoffs"]:
        lines.append(f"the cutoff of the main measure {configuration['main_measure']!r} is not configured")
    return lines


def _check_names(chain: Chain, auditor: Experiment) -> Iterator[Check]:
    """Compare the names of systems, datasets and metrics with those of the configuration."""
    manifest = chain.manifest
    configuration = manifest["configuration"]
    systems, datasets = configuration["systems"], configuration["datasets"]
    needed = auditor.with_needed(systems, configured_systems(_custom(chain, "systems")))
    rows = list(auditor.catalogue.datasets) if datasets == "all" else datasets
    expected = {
        "systems": [*systems, *(name for name in needed if name not in systems)],
        "datasets": rows,
        "inputs": [METRICS(system=system, dataset=row) for system in systems for row in rows],
    }
    for key, names in expected.items():
        if list(manifest[key]) != names:
            odd = sorted({*manifest[key]} ^ {*names}) or ["their order"]
            yield chain.failed(NAME, MANIFEST, f"{MANIFEST}: other {key}: {', '.join(odd[:5])}", f"those of {BY_CONFIGURATION}")


def _check_system(chain: Chain, auditor: Experiment, name: str, found: Mapping[str, Any]) -> Iterator[Check]:
    """Compare a system with its definition in the configuration or the catalogue and, but for places, with the auditor's."""
    own, here = _custom(chain, "systems"), auditor.systems.get(name)
    if unknown := unknown_in(found):
        yield Check(NAME, NOT_CHECKED, f"{name} needs an extension that is not installed: {unknown}", "", (MANIFEST,))
        return
    known = {BY_CONFIGURATION: configured_systems(own).get(name), BY_AUDITOR: here} if name in own else {BY_CATALOGUE: here}
    expected = {by: system for by, system in known.items() if system is not None}
    if not expected:
        yield Check(NAME, NOT_CHECKED, f"{name}: settings not checked; neither catalogue nor your configuration has this system")
    for by, system in expected.items():
        there = comparable(chain, as_json(asdict(system)))
        stated = {**comparable(chain, found), "trained_on": dict(found.get("trained_on", {}))}
        if by == BY_AUDITOR:
            stated, there = without_places(stated), without_places(there)
        source, words = stated["trained_on"].pop("source", ""), there["trained_on"].pop("source", "")
        yield from _compare(chain, name, stated, there, by)
        if source != words:  # which a later catalogue may improve
            yield Check(NAME, NOT_CHECKED, f"{name}: the catalogue words the source of its training data otherwise: {source!r}")


def comparable(chain: Chain, system: Mapping[str, Any]) -> dict[str, Any]:
    """Return a system of a manifest or a catalogue without the analyzers of datasets that are not of these results."""
    rows = {corpus.get("part_of") or corpus["row"] for corpus in chain.corpora.values()}
    return {**system, "settings": of_datasets(system["settings"], rows)}


def _check_dataset(chain: Chain, auditor: Experiment, key: str, row: str) -> Iterator[Check]:
    """Compare a dataset with the catalogue, or else with its own definition and, but for places, the auditor's."""
    found = part(chain.manifest, key, row, kind=list)
    known = {BY_CATALOGUE: corpora_named(row, auditor.catalogue.known_datasets)}
    if known[BY_CATALOGUE] is None:  # a definition replaces none of the catalogue
        known = {BY_CONFIGURATION: corpora_named(row, _defined(chain)), BY_AUDITOR: corpora_named(row, auditor.rows)}
    expected = {by: corpora for by, corpora in known.items() if corpora is not None}
    if not expected:
        yield Check(NAME, NOT_CHECKED, f"{row}: corpora not checked; neither catalogue nor your configuration has this dataset")
    names = [corpus["name"] for corpus in found]
    for by, corpora in expected.items():
        chosen = [corpus for corpus in corpora if key != TUNED_ON or corpus.name in names]
        if [corpus.name for corpus in chosen] != names:
            there = ", ".join(corpus.name for corpus in chosen)
            yield chain.failed(NAME, MANIFEST, f"{MANIFEST}: {row} has the corpora {', '.join(names)}", f"{there}, by {by}")
            continue
        for entry, corpus in zip(found, map(as_json, map(asdict, chosen)), strict=True):
            one, other = (
                {k: v for k, v in each.items() if v not in (None, {}) and (by != BY_AUDITOR or k in OF_A_CORPUS)}
                for each in (entry, corpus)
            )
            yield from _compare(chain, corpus["name"], one, other, by)


def _compare(chain: Chain, what: str, found: Mapping[str, Any], expected: Mapping[str, Any], by: str) -> Iterator[Check]:
    """Compare the fields of a system or a corpus, nested settings one by one."""
    for key in dict.fromkeys([*expected, *found]):
        here, there = found.get(key), expected.get(key)
        if isinstance(here, Mapping) and isinstance(there, Mapping):
            yield from _compare(chain, what, here, there, by)
        elif here != there:
            yield chain.failed(NAME, MANIFEST, f"{MANIFEST}: {key} of {what} is {short(here)}", f"{short(there)}, by {by}")


def as_json(value: Any) -> Any:
    """Return a value as JSON represents it."""
    return json.loads(json.dumps(value))


def _custom(chain: Chain, kind: str) -> Mapping[str, Any]:
    """Return the custom definitions of the configuration."""
    return (chain.manifest["configuration"].get("custom") or {}).get(kind) or {}


def _defined(chain: Chain) -> dict[str, tuple[Dataset, ...]]:
    """Return the corpora of the datasets that the configuration defines."""
    return {name: custom_dataset(name, entry) for name, entry in _custom(chain, "datasets").items()}
