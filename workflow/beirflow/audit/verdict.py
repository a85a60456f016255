"""The verdict of an audit in one line: how far it followed the results, and what it did not compare."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from beirflow.audit.digests.checks import FAILED, NOT_CHECKED, PASSED, Check
from beirflow.audit.facts.sources import MODELS, SOURCES

SHARES = (0.01, 0.05, 0.2)
"""Of forged texts or queries, whose probability to be seen is said."""

DOCUMENTS_AGAIN = re.compile(r"documents \w+ again ")
"""Beginning of the names of checks that make the representations of documents again."""

SHOWN = 6
"""Things that were not compared and are named on the terminal."""

Sections = Mapping[str, Sequence[Check]]


def grades(sections: Sections, sample: int) -> list[tuple[str, str]]:
    """Return each step with ``yes``, ``no``, ``failed``, or how many of how many."""
    traced = [_traced(sections, what, name) for what, name in (("traced to sources", SOURCES), ("traced to models", MODELS))]
    return [
        ("intact", _all_passed(sections, "integrity")),
        ("consistent", _all_passed(sections, "facts")),
        ("recomputed", _all_passed(sections, "recomputation")),
        *(each for each in traced if each),
        ("sampled", _sampled(sections.get("sample", ()), sample)),
    ]


def verdict_line(found: Sequence[tuple[str, str]]) -> str:
    """The steps in one line."""
    return " · ".join(f"{what}: {how}" for what, how in found)


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


def seen(sample: int) -> str:
    """Say with which probability, at least, a sample of so many documents and queries detects some forged shares."""
    drawn = sample - sample // 2
    return ", ".join(f"{share:.0%} forged is seen with {1 - (1 - share) ** drawn:.0%}" for share in SHARES)


def for_terminal(report: Mapping[str, Any], folder: str, page: str) -> str:
    """Return the verdict, what failed, which results are affected, and what was not compared, from ``audit.json``."""
    counts = ", ".join(f"{result} {status}" for status, result in report["counts"].items())
    lines = [f"The audit of {folder} {report['verdict']}: {counts}.", f"  {verdict_line(report['grades'])}"]
    for section in report["sections"].values():
        for check in section:
            if check["status"] in (FAILED, "warning"):
                expected = f"; expected: {check['expected']}" if check["expected"] else ""
                lines.append(f"  {check['status']}: {check['name']}: {check['found']}{expected}")
                lines += [f"    to repair: {check['repair']}"] * bool(check["repair"])
    if report["verdict"] == FAILED:
        affected = ", ".join(f"{system} on {dataset}" for system, dataset in report["affected"])
        lines.append(f"Numbers of the summary that are affected: {affected or 'none'}.")
    if left := report["not_compared"]:
        lines.append("NOT compared:")
        lines += [f"  {each}" for each in left[:SHOWN]] + [f"  and {len(left) - SHOWN} others"] * (len(left) > SHOWN)
    return "\n".join([*lines, f"Everything that was looked at: {page}"])


def _all_passed(sections: Sections, name: str) -> str:
    statuses = [check.status for check in sections.get(name, ())]
    return "failed" if FAILED in statuses else "yes" if PASSED in statuses else "no"


def _traced(sections: Sections, what: str, name: str) -> tuple[str, str] | None:
    checks = [check for check in sections.get("sources", ()) if check.name == name]
    if not checks:
        return None
    if any(check.status == FAILED for check in checks):
        return what, "failed"
    passed = sum(check.status == PASSED for check in checks)
    return what, "yes" if passed == len(checks) else f"{passed} of {len(checks)}" if passed else "no"


def _sampled(checks: Sequence[Check], sample: int) -> str:
    """Return the grade of the sample; it states a probability only where documents were made again."""
    statuses = {check.status for check in checks}
    if PASSED not in statuses:
        return "no"
    if FAILED in statuses:
        return "failed"
    documents_again = any(check.status == PASSED and DOCUMENTS_AGAIN.match(check.name) for check in checks)
    return f"{_share(checks)} ({sample}: {seen(sample) if documents_again else 'no document was made again'})"


def _share(checks: Sequence[Check]) -> str:
    passed = sum(check.status == PASSED for check in checks)
    return "yes" if passed == len(checks) else f"{passed} of {len(checks)} checks"
