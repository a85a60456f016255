"""Verdict of an audit in sentences, for the page and the terminal: what was verified and what was not."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from beirflow.audit.chain import EARLIER
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, WARNING, Check, unique
from beirflow.audit.replay.replay import SOURCES
from beirflow.core.errors import some

LONGEST = 600  # maximum characters of a finding, or of its repair, on the terminal
SHOWN = 6  # maximum number of unchecked items on the terminal

Sections = Mapping[str, Sequence[Check]]

PROVED = {
    "intact": "every file matches the digests in all records, and none is missing or left over",
    "as configured": "systems and datasets match the catalogue and the configurations",
    "replayed": "measures, summary, statistics, tables and pages match the output of their jobs on the stored files",
    "traced to sources": "datasets, models and imported runs match those on this machine",
    "sampled": "a sample of documents and queries was encoded and searched again, with the stored scores",
}
"""By step, what is verified where it passed."""


def grades(sections: Sections) -> list[tuple[str, str]]:
    """Return each step with its grade, ``yes``, ``no``, ``failed`` or a share such as ``3 of 4``, and further failed steps."""
    replayed = sections.get("replay", ())
    steps = {
        "intact": _grade(sections.get("chain", ())),
        "as configured": _grade(sections.get("configuration", ())),
        "replayed": _grade([check for check in replayed if check.name != SOURCES]),
        "traced to sources": _grade([check for check in replayed if check.name == SOURCES], is_share=True),
        "sampled": _grade(sections.get("sample", ()), is_share=True),
    }
    if any(check.status == FAILED for check in sections.get("published scores", ())):
        steps["published scores"] = "failed"
    if any(check.name == EARLIER and check.status == WARNING for check in sections.get("chain", ())):
        steps["derived files"] = "of other results"
    return list(steps.items())


def proved(sections: Sections) -> list[str]:
    """Return what was verified, a sentence for each step that passed at least in part."""
    passed = [(step, grade) for step, grade in grades(sections) if step in PROVED and grade not in ("no", "failed")]
    return [PROVED[step] + ("" if grade == "yes" else f" ({grade} checks)") for step, grade in passed]


def findings(sections: Sections, rebuild: Callable[..., str]) -> list[dict[str, Any]]:
    """Group failures, then warnings: those that follow from a file with that file, and files that one command repairs.

    ``rebuild`` returns the command that rebuilds files of the results. ``follows`` are other files that may differ, or cannot be
    rebuilt, because of a finding.
    """
    checks = [check for checks in sections.values() for check in checks]
    groups: dict[tuple[str, str, str], list[Check]] = {}
    for check in (check for status in (FAILED, WARNING) for check in checks if check.status == status and not check.cause):
        is_rebuilt = bool(check.repair) and check.repair == rebuild(*check.files)
        groups.setdefault((check.status, check.name, "" if is_rebuilt else check.repair or check.found), []).append(check)
    return [_finding(group, checks, rebuild) for group in groups.values()]


def _finding(group: Sequence[Check], checks: Sequence[Check], rebuild: Callable[..., str]) -> dict[str, Any]:
    files = list(dict.fromkeys(path for check in group for path in check.files))
    caused = [check for check in checks if check.status in (FAILED, WARNING) and check.cause in files]
    own = [check for check in caused if {*check.files} <= {*files}]
    return {
        "status": group[0].status,
        "name": group[0].name,
        "details": [check.found + (f"; expected: {check.expected}" if check.expected else "") for check in (*own, *group)],
        "follows": sorted({path for check in caused for path in check.files}.difference(files)),
        "results": unique(result for check in (*group, *caused) for result in check.results),
        "repair": group[0].repair if len(group) == 1 else rebuild(*files) if group[0].repair else "",
    }


def verdict_line(steps: Sequence[tuple[str, str]]) -> str:
    """Join the steps in one line."""
    return " · ".join(f"{step}: {grade}" for step, grade in steps)


def not_checked(sections: Sections) -> list[str]:
    """Return what was not checked: by kind the first finding and the number of others."""
    counted: dict[str, list[str]] = {}
    for check in (check for checks in sections.values() for check in checks if check.status == NOT_CHECKED):
        counted.setdefault(check.name, []).append(check.found)
    return [found[0] + (f" (and {len(found) - 1} more of this kind)" if len(found) > 1 else "") for found in counted.values()]


def for_terminal(report: Mapping[str, Any], folder: str, page: str) -> str:
    """Return the verdict, failures, affected results and unchecked items, from ``audit.json``."""
    plural = {WARNING: "warning" if report["counts"][WARNING] == 1 else "warnings"}
    counts = ", ".join(f"{number} {plural.get(status, status)}" for status, number in report["counts"].items())
    lines = [f"The audit of {folder} {report['verdict']}: {counts}.", f"  {verdict_line(report['grades'])}"]
    for each in report["findings"]:
        first, *others = each["details"]
        lines.append(f"  {each['status']}: {_cut(first)}")
        lines += [f"    {_cut(detail)}" for detail in others[:SHOWN]]
        lines += [f"    and {len(others) - SHOWN} others"] * (len(others) > SHOWN)
        if follows := each["follows"]:
            lines.append(f"    differing or not rebuilt because of it: {some(follows, SHOWN)}")
        if repair := each["repair"]:  # never cut, since it is pasted into a shell
            lines.append(f"    to repair: {repair if len(repair) <= LONGEST else 'the command on the page below'}")
    if report["verdict"] == FAILED:
        affected = ", ".join(f"{system} on {dataset}" for system, dataset in report["affected"])
        lines.append(f"Affected numbers of the summary: {affected or 'none'}.")
    lines += ["Verified:", *(f"  {each}" for each in report["proved"])] if report["proved"] else []
    if left := report["not_checked"]:
        lines.append("NOT checked:")
        lines += [f"  {each}" for each in left[:SHOWN]] + [f"  and {len(left) - SHOWN} others"] * (len(left) > SHOWN)
    return "\n".join([*lines, f"All checks: {page}"])


def _cut(text: str) -> str:
    """Cut a text for the terminal, so that it does not push the verdict off the screen; the page has all of it."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … (in full on the page below)"


def _grade(checks: Sequence[Check], *, is_share: bool = False) -> str:
    """Return the grade of checks; a share, if each may lack its input."""
    statuses = [check.status for check in checks]
    passed = statuses.count(PASSED)
    if FAILED in statuses or not passed:
        return "failed" if FAILED in statuses else "no"
    return f"{passed} of {len(checks)}" if is_share and passed < len(checks) else "yes"
