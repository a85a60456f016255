"""Systems and datasets of the manifest, compared with its configuration, the catalogue, and the auditor's configuration."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from beirflow.audit.chain import Chain
from beirflow.audit.checks import Check
from beirflow.audit.chain.facts import Comparison, as_json
from beirflow.audit.reading import part
from beirflow.audit.facts.relations import Expected, Place, Relation, Row, computed
from beirflow.config.main_measure import cutoff_of, main_measure
from beirflow.config.manifest import TUNED_ON
from beirflow.core.digests import file_digest
from beirflow.core.layout import ARCHIVE, MANIFEST, METRICS
from beirflow.data.catalogue.choice import check_own_names, corpora_named
from beirflow.data.catalogue.dataset import Dataset
from beirflow.data.catalogue.own_datasets import custom_dataset
from beirflow.data.catalogue.schema import NO_SUCH_KEY, Problems, keys_of, problems_with
from beirflow.families.system import System
from beirflow.ranking.run_settings import without_places

PART = ("part_of", "sample_queries", "sample_seed", "sample_documents", "documents_seed")

OF_A_DATASET = ("name", "row", "forum", "split", "archive", "md5", "form", "drop_self_matches", "relevant_from", *PART)
"""Facts that the same name must mean for everybody; not its place."""

BY_CATALOGUE = "the catalogue here"
BY_CONFIGURATION = f"the configuration in {MANIFEST}"
BY_AUDITOR = "the configuration of the audit"


def check_configured(chain: Chain) -> list[Check]:
    """Compare systems and datasets with their own configuration, with the catalogue, and with the configuration of who audits."""
    facts = Comparison(chain, "the manifest is what its configuration asks for")
    facts.each([MANIFEST], _check_keys)
    facts.each([MANIFEST], _check_precision)
    for name in part(chain.manifest, "systems", kind=dict):
        facts.each([MANIFEST], partial(_check_system, name=name))
    for key, rows in (("datasets", part(chain.manifest, "datasets", kind=dict)), (TUNED_ON, chain.tuning_rows)):
        for row in rows:
            facts.each([MANIFEST], partial(_check_dataset, row=row, key=key))
    known = [corpus for corpora in chain.setup.catalogue.known_datasets.values() for corpus in corpora]
    archives: dict[str, tuple[Any, str]] = {
        corpus["archive"]: (corpus["md5"], MANIFEST) for corpus in chain.corpora.values() if corpus["archive"]
    }
    archives |= {corpus.archive: (corpus.md5, BY_CATALOGUE) for corpus in known if corpus.archive}
    for archive, (md5, by) in archives.items():
        facts.each([ARCHIVE(archive=archive)], partial(_check_archive, md5=md5, by=by))
    return facts.finished()


def problems_of(place: Place, found: Any) -> list[str]:
    """Return why a configuration could not be used."""
    systems, baseline, setup = found["systems"], found.get("baseline"), place.chain.setup
    of_schema = problems_with({key: value for key, value in found.items() if key in keys_of("config")}, "config")
    unknown = [line for key, line in zip(of_schema.keys, of_schema.lines, strict=True) if _may_be_of_an_extension(key, line)]
    for line in unknown:
        place.facts.not_compared(f"configuration, {line.partition('; ')[0]}: perhaps a key of an extension that is not installed")
    problems = Problems([line for line in of_schema.lines if line not in unknown])
    if not problems.lines:
        for name in _custom(place.record, "systems").keys() & setup.published_systems.keys():
            problems.add(f"custom.systems.{name}", name, "the catalogue has a system of this name")
        check_own_names(_defined(place.record), setup.catalogue, problems)
    lines = problems.lines
    lines += [f"the baseline {baseline!r} is no configured system"] * (baseline not in (None, *systems))
    is_measured = cutoff_of(main_measure(found)) in found["cutoffs"]
    return lines + ([] if is_measured else [f"the cutoff of the main measure {found['main_measure']!r} is not configured"])


def _may_be_of_an_extension(key: str, problem: str) -> bool:
    """Test whether a problem is an unknown key, on which nothing that is known here depends."""
    return NO_SUCH_KEY in problem and not key.startswith("custom.datasets.")


def as_configured(expected: Callable[[Place], list[str]]) -> Relation:
    """Expect the names that a configuration asks for, in its order."""

    def follows(place: Place, key: str, found: Any) -> Iterator[Expected]:
        said = place.record["configuration"].get(key)
        yield Expected(list(found), expected(place), BY_CONFIGURATION, [(MANIFEST, f"configuration/{key}", said)] if said else ())

    return follows


def _systems(place: Place) -> list[str]:
    """Return the configured systems, and after them those that they are made from."""
    chosen, setup = place.record["configuration"]["systems"], place.chain.setup
    needed = setup.with_needed(chosen, setup.systems_as_configured(_custom(place.record, "systems")))
    return [*chosen, *(name for name in needed if name not in chosen)]


def _rows(place: Place) -> list[str]:
    """Return the configured datasets."""
    named = place.record["configuration"]["datasets"]
    return list(place.chain.setup.catalogue.datasets) if named == "all" else named


def _results(place: Place) -> list[str]:
    """Return the metrics of every configured system on every configured dataset."""
    return [METRICS(system=system, dataset=row) for system in place.record["configuration"]["systems"] for row in _rows(place)]


OF_THE_MANIFEST = (
    Row("configuration", computed(lambda place: [], "workflow/schemas", problems_of), what="wrong in its"),
    Row("systems", as_configured(_systems), what="names of"),
    Row("datasets", as_configured(_rows), what="names of"),
    Row("inputs", as_configured(_results), what="names of"),
)
"""Facts of the manifest, but for its entries of systems and datasets, which :func:`check_configured` compares."""


def _check_keys(facts: Comparison, path: str) -> None:
    """Name the keys of the configuration that only an extension which is not installed here can define."""
    if others := part(facts.chain.manifest, "configuration", kind=dict).keys() - keys_of("config"):
        names = ", ".join(sorted(others))
        facts.not_compared(f"{names}: keys of the configuration that need the extension that defines them", path)


def _check_precision(facts: Comparison, path: str) -> None:
    """Say if the person who audits configured another precision than the results have."""
    said, asked = part(facts.chain.manifest, "configuration", "precision"), facts.chain.setup.config["precision"]
    if asked not in ("auto", said):
        facts.not_compared(
            f"precision: these results were configured with {said}, the audit with {asked}; samples are made again in the more "
            f"precise of both and compared within its tolerance",
            path,
        )


def _check_system(facts: Comparison, _path: str, name: str) -> None:
    """Check that a system has the settings of its configuration or the catalogue and, but for places, of the auditor."""
    found = part(facts.chain.manifest, "systems", name, kind=dict)
    setup = facts.chain.setup
    if unknown := setup.unknown_in(found):
        facts.not_compared(f"the configuration of {name}, which is {unknown}", MANIFEST)
    own = _custom(facts.chain.manifest, "systems").get(name)
    if own is not None:
        if configured := setup.systems_as_configured(_custom(facts.chain.manifest, "systems")).get(name):
            _compare_system(facts, name, found, configured, BY_CONFIGURATION)
            facts.chain.note(MANIFEST, f"configuration/custom/systems/{name}", own, f"the settings of {name}")
        if name in setup.systems:
            _compare_system(facts, name, found, setup.systems[name], BY_AUDITOR)
    elif name in setup.systems:
        _compare_system(facts, name, found, setup.systems[name], BY_CATALOGUE)
    else:
        facts.not_compared(
            f"{name} is in no catalogue or configuration that is known here, so its settings are those that it says"
        )


def _compare_system(facts: Comparison, name: str, found: Mapping[str, Any], expected: System, by: str) -> None:
    said = part(found, "settings", kind=dict)
    facts.same(MANIFEST, f"family of {name}", found.get("family"), expected.family, by, f"systems/{name}/family")
    facts.same(MANIFEST, f"name of {name}", found.get("name"), name, by, f"systems/{name}/name")
    for key, value in as_json(asdict(expected.trained_on)).items():
        said_of, own = part(found, "trained_on", key), f"systems/{name}/trained_on/{key}"
        if key == "source" and said_of != value:  # words, which a later catalogue may improve
            facts.not_compared(f"training data of {name}: the source is named by other words here: {said_of!r}", MANIFEST)
        else:
            facts.same(MANIFEST, f"training data of {name}", said_of, value, by, own)
    settings = as_json(asdict(expected.settings))
    if by == BY_AUDITOR:
        said, settings = without_places(said), without_places(settings)
    for key in dict.fromkeys([*settings, *said]):
        facts.same(MANIFEST, f"{key} of {name}", said.get(key), settings.get(key), by, f"systems/{name}/settings/{key}")


def _check_dataset(facts: Comparison, _path: str, row: str, key: str) -> None:
    """Check that a dataset has the corpora of the catalogue, or else of its configuration and, but for places, the auditor's."""
    setup, own = facts.chain.setup, _custom(facts.chain.manifest, "datasets").get(row)
    found = part(facts.chain.manifest, key, row, kind=list)
    expected = {BY_CATALOGUE: corpora_named(row, setup.catalogue.known_datasets)}
    if expected[BY_CATALOGUE] is None:  # a definition replaces none of the catalogue
        expected = {
            BY_CONFIGURATION: corpora_named(row, _defined(facts.chain.manifest)),
            BY_AUDITOR: corpora_named(row, setup.rows),
        }
        facts.chain.note(MANIFEST, f"configuration/custom/datasets/{row}", own, key)
    names = [corpus["name"] for corpus in found]
    for by, corpora in expected.items():
        if corpora is not None:
            _compare_corpora(
                facts, f"{key}/{row}", found, [each for each in corpora if key != TUNED_ON or each.name in names], by
            )
    if not any(expected.values()):
        facts.not_compared(f"{row} is in no catalogue or configuration that is known here, so its corpora are those that it says")


def _compare_corpora(facts: Comparison, where: str, found: list[Any], expected: Sequence[Dataset], by: str) -> None:
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


def _check_archive(facts: Comparison, path: str, md5: str, by: str) -> None:
    """Check that an archive is the official one, where it is among the results."""
    if path in facts.chain.listing.files:
        facts.same(path, "md5", file_digest(facts.chain.file(path), "md5"), md5, by)


def _defined(manifest: Mapping[str, Any]) -> dict[str, tuple[Dataset, ...]]:
    """Return the corpora of the datasets that the configuration defines."""
    return {name: custom_dataset(name, entry) for name, entry in _custom(manifest, "datasets").items()}


def _custom(manifest: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return the own definitions of the configuration."""
    return ((manifest["configuration"].get("custom") or {}).get(kind)) or {}
