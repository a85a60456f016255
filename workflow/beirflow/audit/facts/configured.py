"""Does the manifest evaluate its configuration, with systems and datasets that match their names?"""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import Check, RecordError
from beirflow.audit.chain.facts import Comparison, as_json
from beirflow.audit.chain.reading import part
from beirflow.audit.chain.setup import Setup
from beirflow.catalogue.choice import corpora_named
from beirflow.catalogue.dataset import Dataset
from beirflow.catalogue.own_datasets import custom_dataset
from beirflow.catalogue.schema import problems_with
from beirflow.evaluation.main_measure import cutoff_of, main_measure
from beirflow.evaluation.manifest import TUNED_ON
from beirflow.files.layout import CORPUS, MANIFEST, METRICS
from beirflow.runs.family import System

PLACES = ("model", "query_model", "offline", "path", "run")
"""Settings that say where a model or a file is, which may differ from machine to machine where it is no hub."""

PART = ("part_of", "sample_queries", "sample_seed", "sample_documents", "documents_seed")

OF_A_DATASET = ("name", "row", "forum", "split", "archive", "md5", "form", "drop_self_matches", "relevant_from", *PART)
"""Facts that the same name must mean for everybody; not its place."""

BY_CATALOGUE = "the catalogue here"
BY_CONFIGURATION = f"the configuration in {MANIFEST}"
BY_AUDITOR = "the configuration of the audit"


def check_configured(chain: Chain, setup: Setup) -> list[Check]:
    """Compare the manifest with its own configuration, with the catalogue, and with the configuration of who audits."""
    facts = Comparison(chain, "the manifest is what its configuration asks for")
    facts.each([MANIFEST], lambda facts, path: _check_form(facts))
    facts.each([MANIFEST], lambda facts, path: _check_product(facts, setup))
    facts.each([MANIFEST], lambda facts, path: _check_precision(facts, setup))
    for name in part(chain.manifest, "systems", kind=dict):
        facts.each([MANIFEST], lambda facts, path, name=name: _check_system(facts, setup, name))  # type: ignore[misc]
    for row in part(chain.manifest, "datasets", kind=dict):
        facts.each([MANIFEST], lambda facts, path, row=row: _check_dataset(facts, setup, row, "datasets"))  # type: ignore[misc]
    for row in chain.tuning_rows:
        facts.each([MANIFEST], lambda facts, path, row=row: _check_dataset(facts, setup, row, TUNED_ON))  # type: ignore[misc]
    facts.each([CORPUS(dataset=name) for name in chain.prepared], _check_chunks)
    return facts.finished()


def _check_form(facts: Comparison) -> None:
    """The configuration is one that could be used."""
    found = problems_with(dict(facts.chain.manifest["configuration"]), "config").lines
    facts.same(MANIFEST, "in its configuration", found, [], "workflow/schemas")


def _check_product(facts: Comparison, setup: Setup) -> None:
    """Every configured system was evaluated on every configured dataset, and nothing else was."""
    manifest, configuration = facts.chain.manifest, facts.chain.manifest["configuration"]
    rows = list(setup.catalogue.datasets) if configuration["datasets"] == "all" else configuration["datasets"]
    chosen = configuration["systems"]
    configured = setup.systems_as_configured(_custom(manifest, "systems"))
    expected = [*chosen, *(name for name in setup.with_needed(chosen, configured) if name not in chosen)]
    facts.same(MANIFEST, "systems", list(manifest["systems"]), expected, BY_CONFIGURATION, "configuration/systems")
    facts.same(MANIFEST, "datasets", list(manifest["datasets"]), rows, BY_CONFIGURATION, "configuration/datasets")
    expected = [METRICS(system=system, dataset=row) for system in configuration["systems"] for row in rows]
    facts.same(MANIFEST, "inputs", list(manifest["inputs"]), expected, BY_CONFIGURATION)
    if configuration.get("baseline") not in (None, *configuration["systems"]):
        raise RecordError(f"has the baseline {configuration['baseline']!r}, which is no configured system")
    if cutoff_of(main_measure(configuration)) not in configuration["cutoffs"]:
        raise RecordError(f"has the main measure {configuration['main_measure']!r}, whose cutoff is not configured")


def _check_precision(facts: Comparison, setup: Setup) -> None:
    """The results have the precision that the person who audits configured."""
    said, asked = part(facts.chain.manifest, "configuration", "precision"), setup.config["precision"]
    if asked not in ("auto", said):
        facts.not_compared(
            f"precision: these results were configured with {said}, the audit with {asked}; samples are made again in the more "
            f"precise of both and compared within its tolerance",
            MANIFEST,
        )


def _check_system(facts: Comparison, setup: Setup, name: str) -> None:
    """A system has the settings that its configuration or the catalogue gives it, and, but for places, those of who audits."""
    found = part(facts.chain.manifest, "systems", name, kind=dict)
    own = _custom(facts.chain.manifest, "systems").get(name)
    if own is not None:
        if configured := setup.systems_as_configured(_custom(facts.chain.manifest, "systems")).get(name):
            _compare_system(facts, name, found, configured, BY_CONFIGURATION)
            facts.chain.note(MANIFEST, f"configuration/custom/systems/{name}", own, f"the settings of {name}")
        if name in setup.systems:
            here = setup.systems[name]
            local = part(found, "settings", kind=dict).get("revision") is None
            _compare_system(facts, name, found, here, BY_AUDITOR, PLACES if local else ())
    elif name in setup.systems:
        _compare_system(facts, name, found, setup.systems[name], BY_CATALOGUE)
    else:
        facts.not_compared(
            f"{name} is in no catalogue or configuration that is known here, so its settings are those that it says"
        )


def _compare_system(
    facts: Comparison, name: str, found: Mapping[str, Any], expected: System, by: str, but: tuple[str, ...] = ()
) -> None:
    said = part(found, "settings", kind=dict)
    facts.same(MANIFEST, f"family of {name}", found.get("family"), expected.family, by, f"systems/{name}/family")
    facts.same(MANIFEST, f"name of {name}", found.get("name"), name, by, f"systems/{name}/name")
    if "trained_on" in found:  # absent from manifests of earlier versions
        for key, value in as_json(asdict(expected.trained_on)).items():
            said_of, own = part(found, "trained_on", key), f"systems/{name}/trained_on/{key}"
            if key == "source" and said_of != value:  # words, which a later catalogue may improve
                facts.not_compared(f"training data of {name}: the source is named by other words here: {said_of!r}", MANIFEST)
            else:
                facts.same(MANIFEST, f"training data of {name}", said_of, value, by, own)
    settings = as_json(asdict(expected.settings))
    for key in dict.fromkeys([*settings, *said]):
        if key not in but:
            one, other = (_without(each.get(key), but) for each in (said, settings))
            facts.same(MANIFEST, f"{key} of {name}", one, other, by, f"systems/{name}/settings/{key}")


def _without(value: Any, but: tuple[str, ...]) -> Any:
    """A setting without places, where it has settings of its own, as that of an expansion has."""
    return {key: _without(each, but) for key, each in value.items() if key not in but} if isinstance(value, Mapping) else value


def _check_dataset(facts: Comparison, setup: Setup, row: str, key: str) -> None:
    """A dataset has the corpora that its configuration or the catalogue gives it; all of them, where it is evaluated."""
    found = part(facts.chain.manifest, key, row, kind=list)
    defined = {name: custom_dataset(name, entry) for name, entry in _custom(facts.chain.manifest, "datasets").items()}
    own, known = corpora_named(row, defined), corpora_named(row, setup.catalogue.known_datasets)
    if key == TUNED_ON:
        names = [corpus["name"] for corpus in found]
        own, known = (each and tuple(corpus for corpus in each if corpus.name in names) for each in (own, known))
    if own is not None:
        _compare_corpora(facts, f"{key}/{row}", found, own, BY_CONFIGURATION)
        facts.chain.note(
            MANIFEST, f"configuration/custom/datasets/{row}", _custom(facts.chain.manifest, "datasets").get(row), key
        )
        known = None if known else setup.rows.get(row)
    if known is not None:
        _compare_corpora(facts, f"{key}/{row}", found, known, BY_AUDITOR if own is not None else BY_CATALOGUE)
    elif own is None:
        facts.not_compared(f"{row} is in no catalogue or configuration that is known here, so its corpora are those that it says")


def _compare_corpora(facts: Comparison, where: str, found: list[Any], expected: tuple[Dataset, ...], by: str) -> None:
    corpora = [as_json(asdict(corpus)) for corpus in expected]
    facts.same(
        MANIFEST,
        f"corpora of {where.partition('/')[2]}",
        [corpus["name"] for corpus in found],
        [each["name"] for each in corpora],
        by,
    )
    for number, (said, corpus) in enumerate(zip(found, corpora, strict=False)):
        keys = [
            key for key in corpus if (key in OF_A_DATASET or by != BY_AUDITOR) and (key in said or corpus[key] not in (None, {}))
        ]
        for key in keys:
            facts.same(MANIFEST, f"{key} of {corpus['name']}", said.get(key), corpus[key], by, f"{where}/{number}/{key}")


def _check_chunks(facts: Comparison, path: str) -> None:
    """A corpus has as many chunks as the configuration asks for."""
    record, most = facts.chain.record(path), part(facts.chain.manifest, "configuration", "chunk_documents", kind=int)
    expected = max(1, math.ceil(part(record, "counts", "documents", kind=int) / most))
    facts.same(path, "chunks", part(record, "chunks"), expected, f"{BY_CONFIGURATION}, chunk_documents {most}")
    facts.chain.note(MANIFEST, "configuration/chunk_documents", most, path)


def _custom(manifest: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return the own definitions of the configuration."""
    return ((manifest["configuration"].get("custom") or {}).get(kind)) or {}
