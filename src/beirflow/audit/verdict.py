"""The verdict of an audit: what was proved and what was not, in sentences, for the page and the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from beirflow.audit.chain import EARLIER
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, WARNING, Check
from beirflow.audit.replay import SOURCES

LONGEST = 600  # most characters of a finding, or of its repair, on the terminal
SHOWN = 6  # things that were not checked and are named on the terminal

Sections = Mapping[str, Sequence[Check]]

PROVED = {
    "intact": "every file has the digest that each record of it names, and none is missing or left over",
    "as configured": "systems and datasets are those of the catalogue and of the configurations",
    "replayed": "measures, summary, statistics, tables and pages are what their jobs make of the stored files",
    "traced to sources": "datasets, models and runs from elsewhere are those that are here",
    "sampled": "a sample of documents and queries was represented and searched again, with the stored scores",
}
"""By step, what is proved where it passed."""


def grades(sections: Sections) -> list[tuple[str, str]]:
    """Return each step with its grade, ``yes``, ``no``, ``failed`` or how many of how many, and further ones that failed."""
    replayed = sections.get("replay", ())
    steps = {
        "intact": _passed(sections.get("chain", ())),
        "as configured": _passed(sections.get("configuration", ())),
        "replayed": _passed([check for check in replayed if check.name != SOURCES]),
        "traced to sources": _share([check for check in replayed if check.name == SOURCES]),
        "sampled": _share(sections.get("sample", ())),
    }
    if any(check.status == FAILED for check in sections.get("published scores", ())):
        steps["published scores"] = "failed"
    if any(check.name == EARLIER and check.status == WARNING for check in sections.get("chain", ())):
        steps["derived files"] = "of other results"
    return list(steps.items())


def proved(sections: Sections) -> list[str]:
    """Return what was proved, a sentence for each step that passed at least in part."""
    found = []
    for step, how in grades(sections):
        if step in PROVED and how not in ("no", "failed"):
            found.append(PROVED[step] + ("" if how == "yes" else f" ({how} checks)"))
    return found


def verdict_line(found: Sequence[tuple[str, str]]) -> str:
    """Join the steps in one line."""
    return " · ".join(f"{what}: {how}" for what, how in found)


def level(found: Sequence[tuple[str, str]]) -> str:
    """Return how far results were followed, in words, from their steps; "not" or "partly" precedes those that were not done."""
    steps = dict(found)
    words = [f"not {what}" for what in ("intact", "as configured", "replayed") if steps[what] != "yes"] or ["replayed"]
    further = {what: steps[what] for what in ("traced to sources", "sampled")}
    words += [what if how.startswith("yes") else f"{'not' if how == 'no' else 'partly'} {what}" for what, how in further.items()]
    return ", ".join(words)


def not_checked(sections: Sections) -> list[str]:
    """Return what was not checked, of each kind the first finding and how many more there are."""
    counted: dict[str, list[str]] = {}
    for check in (check for checks in sections.values() for check in checks if check.status == NOT_CHECKED):
        counted.setdefault(check.name, []).append(check.found)
    return [found[0] + (f" (and {len(found) - 1} more of this kind)" if len(found) > 1 else "") for found in counted.values()]


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
    lines += ["Proved:", *(f"  {each}" for each in report["proved"])] if report["proved"] else []
    if left := report["not_checked"]:
        lines.append("NOT checked:")
        lines += [f"  {each}" for each in left[:SHOWN]] + [f"  and {len(left) - SHOWN} others"] * (len(left) > SHOWN)
    return "\n".join([*lines, f"Everything that was looked at: {page}"])


def _cut(text: str) -> str:
    """Return a text for the terminal: the page has the rest of a long one, under which the verdict would scroll away."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … (in full on the page below)"


def _passed(checks: Sequence[Check]) -> str:
    statuses = {check.status for check in checks}
    return "failed" if FAILED in statuses else "yes" if PASSED in statuses else "no"


def _share(checks: Sequence[Check]) -> str:
    """Return the grade of checks of which each may lack what it needs."""
    passed = sum(check.status == PASSED for check in checks)
    if passed == len(checks) or _passed(checks) != "yes":
        return _passed(checks)
    return f"{passed} of {len(checks)}"
