"""The verdict of a gate for other programs: JUnit's XML, which CI systems read, and a Markdown comment for a pull request."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from beirflow.core.layout import REPORT
from beirflow.core.writing import atomic_path, write_text

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, https://www.w3.org/TR/xml/#charsets."""

NOT_IN_A_CELL = re.compile(r"([\\`*_{}\[\]<>#|~&])")

LOST = 10  # queries that lost most, over all comparisons

NOT_WORSE, WORSE, UNDECIDED, NOT_COMPARABLE = "not worse", "worse", "undecided", "not comparable"


def footnotes(report: Mapping[str, Any]) -> list[str]:
    """Return sentences on the level of the numbers, and on undecided comparisons, if there are any."""
    comparisons, tolerance = report["comparisons"], report["tolerance"]
    tests = sum(each["mean"] is not None for each in comparisons)
    level = f"{report['level']:.2g}" + (f" ({report['alpha']:g} over {tests} comparisons)" if tests > 1 else "")
    notes = [
        f"p is corrected by Holm's method. Loss up to: its upper confidence bound. Min. detectable: the smallest loss that these"
        f" queries show with a power of 80 %. Both are at the level of {level}."
    ]
    undecided = [each for each in comparisons if each["status"] == UNDECIDED]
    if undecided:
        blind = sum(each["detectable"] is not None and each["detectable"] > tolerance for each in undecided)
        does = "fails (gate.undecided: fail)" if report["undecided"] == "fail" else "does not fail (gate.undecided: pass)"
        notes.append(
            f"Undecided, {len(undecided)} of {len(comparisons)}: neither a loss is shown nor that it is at most {tolerance:g};"
            f" this {does}. {blind} of them could not have shown a loss of {tolerance:g}: add queries or datasets, or allow more."
        )
    return notes


def write_junit(path: Path, report: Mapping[str, Any]) -> None:
    """Write a gate as a test suite, a case a comparison.

    It is a failure where it is worse, an error where it is not comparable, and skipped, or a failure, where it is undecided.
    """
    comparisons = report["comparisons"]
    kinds = {WORSE: "failure", NOT_COMPARABLE: "error", UNDECIDED: "failure" if report["undecided"] == "fail" else "skipped"}
    counted = {"failure": "failures", "error": "errors", "skipped": "skipped"}
    counts = {name: str(sum(kinds.get(each["status"]) == kind for each in comparisons)) for kind, name in counted.items()}
    attributes = {"name": f"{report['measure']} gate: {report['verdict']}", "tests": str(len(comparisons)), **counts}
    suite = ElementTree.Element("testsuite", attributes)
    for each in comparisons:
        case = ElementTree.SubElement(suite, "testcase", classname=_xml(each["system"]), name=_xml(each["dataset"]))
        if each["status"] in kinds:
            problem = ElementTree.SubElement(case, kinds[each["status"]], message=_xml(each["reason"]))
            problem.text = _xml(_details(each))  # GitLab shows the text and not the message, Jenkins both
    with atomic_path(path) as partial:
        ElementTree.ElementTree(suite).write(partial, encoding="utf-8", xml_declaration=True)


def _details(each: Mapping[str, Any]) -> str:
    """Say why a comparison failed or is undecided, with its numbers if there are any."""
    if each["mean"] is None:
        return str(each["reason"])
    interval = "" if each["low"] is None else f" ({each['low']:+z.4f} to {each['high']:+z.4f})"
    lines = [
        each["reason"],
        f"here {each['mean']:.4f}, baseline ({each['against']}) {each['baseline_mean']:.4f}",
        f"difference {each['difference']:+z.4f}{interval}, p {each['p_holm']:.2g}",
        *(f"{query['corpus']} {query['query']}: {query['here']:.4f}, baseline {query['there']:.4f}" for query in each["lost"]),
    ]
    return "\n".join(lines)


def _xml(text: str) -> str:
    return NOT_XML.sub("\ufffd", text)


def write_comment(path: Path, report: Mapping[str, Any], shown: set[tuple[str, str]]) -> None:
    """Write a gate as a comment in Markdown; ``shown`` are corpora and ids of the queries that the report shows."""
    measure, tolerance = report["measure"], report["tolerance"]
    lines = [
        f"### Retrieval gate: {report['verdict']}",
        "",
        f"{measure} against {_cell(report['baseline'])}; a significant loss of more than {tolerance:g} fails.",
        "",
        "| system | dataset | here | baseline | difference (95 %) | p (Holm) | loss up to | min. detectable | |",
        "|---|---|---|---|---|---|---|---|---|",
        *(_row(each) for each in report["comparisons"]),
        *(line for note in footnotes(report) for line in ("", note)),
        *(["", report["baseline_trusted"]] if report["baseline_trusted"] else []),
    ]
    lost = [(each["system"], query) for each in report["comparisons"] for query in each["lost"]]
    if lost:
        where = "" if report["report"] else f"; links need {REPORT} beside this file, or its address in `report` of `gate`"
        lines += [
            "",
            f"Queries that lost most {measure}{where}:",
            "",
            "| query | system | here | baseline |",
            "|---|---|---|---|",
        ]
        lost.sort(key=lambda pair: pair[1]["here"] - pair[1]["there"])
        for system, query in lost[:LOST]:
            linked = _query(query, shown, report["report"] or REPORT)
            lines.append(f"| {linked} | {_cell(system)} | {query['here']:.4f} | {query['there']:.4f} |")
    write_text(path, "\n".join(lines) + "\n")


def _row(each: Mapping[str, Any]) -> str:
    names = f"| {_cell(each['system'])} | {_cell(each['dataset'])} |"
    if each["mean"] is None:
        return f"{names} | | | | | | {NOT_COMPARABLE}: {_cell(each['reason'])} |"
    interval = "" if each["low"] is None else f" ({each['low']:+z.4f} to {each['high']:+z.4f})"
    bound, detectable = ("" if each[key] is None else f"{each[key]:.4f}" for key in ("loss_bound", "detectable"))
    numbers = f"{each['mean']:.4f} | {each['baseline_mean']:.4f} | {each['difference']:+z.4f}{interval} | {each['p_holm']:.2g}"
    return f"{names} {numbers} | {bound} | {detectable} | {each['status']} |"


def _query(query: Mapping[str, Any], shown: set[tuple[str, str]], address: str) -> str:
    """Return a query, with a link into the report if it shows it."""
    text = _cell(f"{query['corpus']} {query['query']}: {query['text'][:120]}")
    if (query["corpus"], query["query"]) not in shown:
        return text
    return f"[{text}]({address}#query={quote(query['corpus'], safe='')}/{quote(query['query'], safe='')})"


def _cell(text: str) -> str:
    """Return a text for a table of Markdown, in which nothing is markup."""
    return NOT_IN_A_CELL.sub(r"\\\1", " ".join(text.split()))
