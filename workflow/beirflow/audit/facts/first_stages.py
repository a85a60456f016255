"""Does the record of a run agree with the runs that it was made from?"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import RecordError
from beirflow.audit.chain.facts import Comparison, as_json
from beirflow.audit.chain.reading import part
from beirflow.files.layout import MANIFEST, PAIRS_RECORD, RUN, RUN_RECORD
from beirflow.files.records import together

OF_A_PART = ("seconds", "bytes")

MERGE = "merge"  # the stage of a reranker that its pairs do not know


def first_stages(chain: Chain, system: str) -> list[str]:
    """Return the systems whose runs a system is made from, in the order of its settings; none if its family is unknown."""
    family = chain.setup.families.get(str(chain.manifest["systems"].get(system, {}).get("family")))
    reads = family.reads(settings_of(chain, system)) if family else None
    return list(reads.systems.values()) if reads and not reads.compared else []


def settings_of(chain: Chain, system: str) -> Any:
    """Return the settings of a system of a known family, as the manifest states them."""
    return chain.setup.system_as_stated(system, part(chain.manifest, "systems", system, kind=dict)).settings


def settings_on(chain: Chain, system: str, dataset: str) -> Any:
    """Return the settings of a system, whose family must be known, as they are for one corpus."""
    family = chain.setup.families[part(chain.manifest, "systems", system, "family", kind=str)]
    return family.for_dataset(settings_of(chain, system), *chain.whole(dataset))


def check_first_stages(facts: Comparison, path: str, systems: list[str]) -> None:
    """Compare the record of a run with those of the runs of ``systems``, whose times and sizes it adds up."""
    chain, record, names = facts.chain, facts.chain.record(path), RUN_RECORD.names_in(path) or {}
    inputs, system, dataset = part(record, "inputs", kind=dict), names["system"], names["dataset"]
    facts.same(path, "first_stages", part(record, "first_stages"), systems, MANIFEST)
    for first in systems:
        for pattern in (RUN, RUN_RECORD):
            if pattern(system=first, dataset=dataset) not in inputs:
                raise RecordError(f"was not made from {pattern(system=first, dataset=dataset)}")
    firsts = [chain.record(RUN_RECORD(system=first, dataset=dataset)) for first in systems]
    by = ", ".join(RUN_RECORD(system=first, dataset=dataset) for first in systems)
    parts = dict(part(record, "parts", kind=dict))
    own = parts.pop(system, None)
    if own is None:
        raise RecordError(f"has no part of {system} itself")
    expected: dict[str, Any] = {}
    for each in firsts:
        expected |= each.get("parts", {each["system"]: {kind: each.get(kind, {}) for kind in OF_A_PART}})
    facts.same(path, "parts", parts, expected, by)
    for kind in OF_A_PART:
        total = _sums([*parts.values(), own], kind)
        facts.same(path, kind, part(record, kind, kind=dict), total, "its parts")
    pairs = [chain.record(name) for name in inputs if PAIRS_RECORD.names_in(name)]
    if pairs:
        _check_pairs(facts, path, own, pairs)
    made = together([*(first["made"] for first in firsts), *(each["made"] for each in pairs)])
    _note_summed(chain, path, firsts, (*firsts, *pairs), made)
    said = {key: value for key, value in part(record, "made", kind=dict).items() if key in made}
    if pairs:
        facts.same(path, "made", said, made, by)
    else:  # the job that fuses says its own versions too
        lacks = {key: sorted(_values(value) - _values(said.get(key))) for key, value in made.items()}
        chain.note(path, "made", said, by)
        facts.same(path, "made, which lacks", {key: values for key, values in lacks.items() if values}, {}, by)
    jobs = {str(job) for each in (*firsts, *pairs) for job in (each["job"], *each.get("jobs", ()))}
    facts.same(path, "jobs, which lack", sorted(jobs - set(part(record, "jobs"))), [], f"{by}: these are missing")


def _note_summed(
    chain: Chain, path: str, firsts: Iterable[Mapping[str, Any]], sources: Iterable[Mapping[str, Any]], made: Mapping[str, Any]
) -> None:
    """Remember that what a run adds up or repeats of others was compared with it."""
    for each in sources:
        chain.note(each["path"], "made", {key: value for key, value in each["made"].items() if key in made}, path)
    for each in firsts:
        for kind in ("parts", *OF_A_PART):
            chain.note(each["path"], kind, each.get(kind, {}), path)


def _check_pairs(facts: Comparison, path: str, own: Mapping[str, Any], pairs: list[dict[str, Any]]) -> None:
    """A reranker adds up what its blocks of pairs took, and has all of them, which were scored as its settings say."""
    chain, by = facts.chain, f"{len(pairs)} blocks of pairs"
    seconds = {key: value for key, value in own["seconds"].items() if key != MERGE}
    names = RUN_RECORD.names_in(path) or {}
    facts.same(path, "seconds of its part", seconds, _sums(pairs, "seconds"), by, f"parts/{names['system']}/seconds")
    facts.same(path, "counts", part(chain.record(path), "counts", kind=dict), _sums(pairs, "counts"), by)
    settings = settings_on(chain, names["system"], names["dataset"])
    for key in ("depth", "below"):
        facts.same(path, key, chain.record(path).get(key), getattr(settings, key), MANIFEST)
    asked = {"max_length": settings.max_length, "purpose": settings.instruction, "depth": settings.depth}
    encoder = asdict(settings.encoder_settings) if settings.encoder_settings else {}
    for number, record in enumerate(sorted(pairs, key=lambda each: int(each["block"]))):
        name = str(record["path"])
        facts.same(name, "system", part(record, "system"), names["system"], "its path")
        facts.same(name, "block", str(part(record, "block")), (PAIRS_RECORD.names_in(name) or {})["block"], "its path")
        for key, expected in {"block": number, "blocks": len(pairs), **asked}.items():
            facts.same(name, key, record.get(key), expected, MANIFEST if key in asked else path)
        if not settings.has_own_precision:  # else it is that of a graph, or nobody knows it
            facts.same(name, "precision", part(record, "precision"), part(record, "made", "precision"), "what made it")
        for kind in ("counts", "seconds"):
            chain.note(name, kind, record.get(kind, {}), path)
        scoring = record.get("scoring", {})
        facts.same(name, "scoring", scoring, as_json({key: encoder.get(key) for key in scoring}), MANIFEST)


def _values(found: Any) -> set[Any]:
    """One value, or each of several that did not agree."""
    return set(found) if isinstance(found, list) else {found}


def _sums(parts: Iterable[Mapping[str, Any]], kind: str) -> dict[str, Any]:
    total: Counter[str] = Counter()
    for each in parts:
        total.update(each.get(kind, {}))
    return dict(total)
