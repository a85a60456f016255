"""Are the results the published ones, if the two are comparable?"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, WARNING, Check, Result
from beirflow.audit.chain.reading import part
from beirflow.audit.chain.setup import Setup
from beirflow.catalogue.catalogue import tolerance
from beirflow.evaluation.summary import PUBLISHED

NEAR = 0.005
"""Difference that still counts as near: half precision was measured to cause 0.0033, and another order of ties 0.0012."""

STATUS = {"match": PASSED, "near": WARNING, "differs": FAILED, "not comparable": NOT_CHECKED}


class Comparison(NamedTuple):
    """A result and a published score."""

    measure: str
    source: str
    verdict: str
    ours: float | None
    published: float | None
    tolerance: float | None
    reason: str


def check_published(chain: Chain, setup: Setup) -> list[Check]:
    """Compare every result with every published score; a difference fails if system and data are those of the catalogue."""
    checks = []
    for path, (system, dataset) in chain.means.items():
        try:
            record = chain.record(path)
            same = _is_of_catalogue(chain, setup, system) and part(record, "official_data") is True
            found = list(_compare(chain, setup, record, (system, dataset)))
            checks += [_check(comparison, path, (system, dataset), certain=same) for comparison in found]
        except UNREADABLE as error:
            checks.append(chain.unreadable("published scores", path, error, [(system, dataset)], chain.repair_command(path)))
    return checks


def _is_of_catalogue(chain: Chain, setup: Setup, system: str) -> bool:
    known = setup.published_systems.get(system)
    return known is not None and asdict(known) == part(chain.manifest, "systems", system)


def _compare(chain: Chain, setup: Setup, record: Mapping[str, Any], result: Result) -> Iterator[Comparison]:
    """Every published score of a system on a dataset, or the reason why there is none."""
    system, dataset = result
    sources = setup.catalogue.published.get(system, [])
    measures = part(record, "measures", kind=dict)
    if not sources:
        yield Comparison("", "", "not comparable", None, None, None, f"nothing is published of {system} in the catalogue")
    for source in sources:
        scores = dict(zip(PUBLISHED, source["scores"].get(dataset, ()), strict=False))
        barred = source.get("not_comparable", {}).get(dataset, {"measures": (), "reason": ""})
        for measure in PUBLISHED:
            ours, published = measures.get(measure), scores.get(measure)
            reason = barred["reason"] if measure in barred["measures"] else _reason(chain, setup, record, dataset)
            if published is None or ours is None:
                missing = "this source has no such score" if published is None else f"{measure} was not computed"
                yield Comparison(measure, source["source"], "not comparable", ours, published, None, missing)
            elif reason:
                yield Comparison(measure, source["source"], "not comparable", ours, published, None, reason)
            else:
                within = tolerance(source["decimals"], part(record, "precisions", kind=list))
                apart = abs(ours - published)
                verdict = "match" if apart <= within else "near" if apart <= max(NEAR, within) else "differs"
                yield Comparison(measure, source["source"], verdict, ours, published, within, _of_source(source))


def _reason(chain: Chain, setup: Setup, record: Mapping[str, Any], dataset: str) -> str:
    """Return the reason why no score of a dataset may be compared; empty if it may."""
    known = setup.catalogue.known_datasets.get(dataset)
    if known is None:
        return f"{dataset} is no dataset of the catalogue"
    if part(record, "official_data") is False:
        return "the data are not the official ones"
    if part(record, "split") != known[0].split:
        return f"evaluated on the split {record['split']}, published on {known[0].split}"
    used = part(chain.manifest, "datasets", dataset, kind=list)
    if [corpus["drop_self_matches"] for corpus in used] != [corpus.drop_self_matches for corpus in known]:
        return "documents that are their own query were treated otherwise"
    return ""


def _of_source(source: Mapping[str, Any]) -> str:
    """Say what of a source may explain a difference."""
    unstated = "it does not state its precision" if source["precision"] != "float32" else ""
    return "; ".join(filter(None, (unstated, source.get("note", ""))))


def _check(comparison: Comparison, path: str, result: Result, *, certain: bool) -> Check:
    measure, source, verdict, ours, published, within, reason = comparison
    status = STATUS[verdict] if certain or verdict != "differs" else WARNING
    what = f"{measure} of {result[0]} on {result[1]}" if measure else f"{result[0]} on {result[1]}"
    if within is None or ours is None or published is None:
        return Check("published scores", status, f"{what}{f', {source}' if source else ''}: {verdict}, {reason}", files=(path,))
    problem = f"{what}: {verdict}, {ours:.5f}, {ours - published:+.5f}"
    expected = f"{published} by {source}, within {within:.5f}{f' ({reason})' if reason else ''}"
    todo = "" if verdict == "match" else "compare model, precision, split and text with those of the source"
    return Check("published scores", status, problem, expected, (path,), (result,) if verdict == "differs" else (), todo)
