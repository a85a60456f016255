"""The verdict of an audit in one line: how far it followed the results, and what it did not compare."""

from collections.abc import Mapping, Sequence
from typing import Any

from beirflow.audit.again.for_reading import EARLIER
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, WARNING, Check
from beirflow.audit.facts.outside import MODELS, SOURCES

SHARES = (0.01, 0.05, 0.2)  # of forged texts or queries, whose probability to be seen is said
LONGEST = 600  # most characters of a finding, or of its repair, on the terminal
SHOWN = 6  # things that were not compared and are named on the terminal

STEPS = ("integrity", "facts", "recomputation", "sample")
"""Sections that are steps of the verdict as a whole; of that of sources, some checks are."""

Sections = Mapping[str, Sequence[Check]]


def grades(sections: Sections) -> list[tuple[str, str]]:
    """Return each step with its grade, and further steps only where they failed.

    Grades are ``yes``, ``no``, ``failed``, ``undecided``, or how many of how many.
    """
    traced = [_traced(sections, what, name) for what, name in (("traced to sources", SOURCES), ("traced to models", MODELS))]
    further = [
        check.name if section == "sources" else section
        for section, checks in sections.items()
        for check in checks
        if check.status == FAILED and section not in STEPS and check.name not in (SOURCES, MODELS)
    ]
    is_earlier = any(check.name == EARLIER and check.status == WARNING for check in sections.get("files for reading", ()))
    return [
        ("intact", _all_passed(sections, "integrity")),
        ("consistent", _all_passed(sections, "facts")),
        ("recomputed", _all_passed(sections, "recomputation")),
        *(each for each in traced if each),
        ("sampled", _sampled(sections.get("sample", ()))),
        *((what, "failed") for what in dict.fromkeys(further)),
        *([("files for reading", "of other results")] if is_earlier and "files for reading" not in further else []),
    ]


def verdict_line(found: Sequence[tuple[str, str]]) -> str:
    """Join the steps in one line."""
    return " · ".join(f"{what}: {how}" for what, how in found)


def level(found: Sequence[tuple[str, str]]) -> str:
    """Return how far results were followed, in words, from their steps; "not" or "partly" precedes those that were not done."""
    steps = dict(found)
    words = [f"not {what}" for what in ("intact", "consistent", "recomputed") if steps[what] != "yes"] or ["consistent"]
    further = {what: steps[what] for what in ("traced to sources", "traced to models", "sampled") if what in steps}
    words += [what if how.startswith("yes") else f"{'not' if how == 'no' else 'partly'} {what}" for what, how in further.items()]
    return ", ".join(words)


def not_compared(sections: Sections) -> list[str]:
    """Return the kinds of facts that were not compared, each with its number."""
    counted: dict[str, list[str]] = {}
    for checks in sections.values():
        for check in checks:
            if check.status == NOT_CHECKED:
                counted.setdefault(check.name, []).append(check.found)
    return [
        f"{name}: {found[0]}" + (f" (and {len(found) - 1} more)" if len(found) > 1 else "") for name, found in counted.items()
    ]


def seen(drawn: int, all_: int) -> str:
    """Say with which probability, at least, so many drawn documents or pairs of all detect some forged shares."""
    if drawn == all_:
        return f"all {drawn} made again"
    number = drawn - drawn // 2  # the others were drawn where forging pays
    shares = ", ".join(f"{share:.0%} forged is seen with {1 - (1 - share) ** number:.0%}" for share in SHARES)
    return f"{drawn} of {all_} made again: {shares}"


def for_terminal(report: Mapping[str, Any], folder: str, page: str) -> str:
    """Return the verdict, what failed, which results are affected, and what was not compared, from ``audit.json``."""
    counts = ", ".join(f"{result} {status}" for status, result in report["counts"].items())
    lines = [f"The audit of {folder} {report['verdict']}: {counts}.", f"  {verdict_line(report['grades'])}"]
    checks = [check for section in report["sections"].values() for check in section]
    for status in (FAILED, "warning"):
        for check in (check for check in checks if check["status"] == status):
            expected = f"; expected: {check['expected']}" if check["expected"] else ""
            lines.append(f"  {status}: {check['name']}: {_cut(check['found'] + expected)}")
            if repair := check["repair"]:  # whole or not at all, since it is pasted into a shell
                lines.append(f"    to repair: {repair if len(repair) <= LONGEST else 'the commands on the page below'}")
    if report["verdict"] == FAILED:
        affected = ", ".join(f"{system} on {dataset}" for system, dataset in report["affected"])
        lines.append(f"Numbers of the summary that are affected: {affected or 'none'}.")
    if left := report["not_compared"]:
        lines.append("NOT compared:")
        lines += [f"  {each}" for each in left[:SHOWN]] + [f"  and {len(left) - SHOWN} others"] * (len(left) > SHOWN)
    return "\n".join([*lines, f"Everything that was looked at: {page}"])


def _cut(text: str) -> str:
    """Return a text for the terminal: the page has the rest of a long one, under which the verdict would scroll away."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … (in full on the page below)"


def _all_passed(sections: Sections, name: str) -> str:
    checks = sections.get(name, ())
    statuses = [check.status for check in checks]
    if FAILED not in statuses and any(check.undecided for check in checks):
        return "undecided"
    return "failed" if FAILED in statuses else "yes" if PASSED in statuses else "no"


def _traced(sections: Sections, what: str, name: str) -> tuple[str, str] | None:
    checks = [check for check in sections.get("sources", ()) if check.name == name]
    if not checks:
        return None
    if any(check.status == FAILED for check in checks):
        return what, "failed"
    passed = sum(check.status == PASSED for check in checks)
    return what, "yes" if passed == len(checks) else f"{passed} of {len(checks)}" if passed else "no"


def _sampled(checks: Sequence[Check]) -> str:
    """Return the grade of the sample, with the smallest of the samples that were really drawn."""
    statuses = {check.status for check in checks}
    if FAILED in statuses:
        return "failed"
    if PASSED not in statuses:
        return "no"
    drawn = [check.drawn for check in checks if check.drawn]
    # All of a small corpus is more than a part of a large one.
    least = min(drawn, key=lambda each: (each[0] == each[1], each), default=None)
    return f"{_share(checks)} ({seen(*least) if least else 'no document was made again'})"


def _share(checks: Sequence[Check]) -> str:
    passed = sum(check.status == PASSED for check in checks)
    return "yes" if passed == len(checks) else f"{passed} of {len(checks)} checks"
