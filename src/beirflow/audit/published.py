"""Compare results with published ones, where the two are comparable."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, WARNING, Check, Result
from beirflow.audit.configured import as_json, comparable
from beirflow.audit.folder.reading import part
from beirflow.config.experiment import Experiment
from beirflow.config.systems import catalogue_systems

NEAR = 0.005
"""Largest difference that counts as near: half precision was measured to cause 0.0033."""

NAME = "published scores"
TODO = "compare model, precision, split, text and order of ties with those of the source; the target explain evaluates others"


def check_published(chain: Chain, auditor: Experiment) -> list[Check]:
    """Compare every result with every published score; a difference fails if system and data are those of the catalogue."""
    checks: list[Check] = []
    for path, result in chain.means.items():
        checks += chain.guarded(NAME, path, partial(_compare, chain, auditor, path, result))
    return checks


def _compare(chain: Chain, auditor: Experiment, path: str, result: Result) -> Iterator[Check]:
    """Compare a result with every published score of its system on its dataset, or report that there is none."""
    (system, dataset), record = result, chain.record(path)
    known = catalogue_systems().get(system)
    found_system = part(chain.manifest, "systems", system, kind=dict)
    is_known = known is not None and comparable(chain, as_json(asdict(known))) == comparable(chain, found_system)
    is_certain = is_known and part(record, "official_data") is True
    references, measures = auditor.catalogue.references(system, dataset), part(record, "measures", kind=dict)
    if not references:
        found = f"the catalogue has no published score of {system} on {dataset}"
        yield Check(NAME, NOT_CHECKED, found, files=(path,))
    for reference in references:
        value, of = reference.ours(record), f"{reference.measure} of {system} on {dataset}"
        reason = reference.barred or _reason(chain, auditor, record, dataset)
        if value is None or reason:
            why = f"{reference.measure} was not computed" if value is None else reason
            yield Check(NAME, NOT_CHECKED, f"{of}, {reference.source}: not comparable, {why}", files=(path,))
            continue
        within = reference.tolerance(part(record, "precisions", kind=list), of_forums="forums" in record)
        ours, apart = measures.get(reference.measure, value), value - reference.value
        verdict, status = "differs", FAILED if is_certain else WARNING
        if abs(apart) <= max(NEAR, within):
            verdict, status = ("match", PASSED) if abs(apart) <= within else ("near", WARNING)
        unstated = "it does not state its precision" if reference.entry["precision"] != "float32" else ""
        about = "; ".join(filter(None, (unstated, reference.entry.get("note"))))  # what may explain a difference
        expected = f"{reference.value} by {reference.source}, within {within:.5f}{f' ({about})' if about else ''}"
        results, todo = (result,) if verdict == "differs" else (), "" if verdict == "match" else TODO
        ranked = f" ({ours:.5f} by the ranking rule)" if value != ours else ""
        yield Check(NAME, status, f"{of}: {verdict}, {value:.5f}{ranked}, {apart:+.5f}", expected, (path,), results, todo)


def _reason(chain: Chain, auditor: Experiment, record: Mapping[str, Any], dataset: str) -> str:
    """Return the reason why no score of a dataset may be compared; empty if it may."""
    known = auditor.catalogue.known_datasets.get(dataset)
    if known is None:
        return f"{dataset} is no dataset of the catalogue"
    if part(record, "official_data") is False:
        return "not evaluated on the official data"
    if part(record, "split") != known[0].split:
        return f"evaluated on the split {record['split']}, published on {known[0].split}"
    used = part(chain.manifest, "datasets", dataset, kind=list)
    if [corpus["drop_self_matches"] for corpus in used] != [corpus.drop_self_matches for corpus in known]:
        return "documents that are their own query were treated otherwise"
    return ""
