"""The verdict of a gate for other programs: JUnit's XML, which CI systems read, and a Markdown comment for a pull request."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from beirflow.files.layout import REPORT
from beirflow.files.writing import atomic_path, write_text

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, https://www.w3.org/TR/xml/#charsets."""

NOT_IN_A_CELL = re.compile(r"([\\`*_{}\[\]<>#|~&])")

LOST = 10  # queries that lost most, over all comparisons

PASSED, WORSE, NOT_COMPARABLE = "passed", "worse", "not comparable"


def write_junit(path: Path, report: Mapping[str, Any]) -> None:
    """Write a gate as a test suite: a case a comparison, a failure where it is worse, an error where it is not comparable."""
    comparisons = report["comparisons"]
    kinds = {WORSE: "failure", NOT_COMPARABLE: "error"}
    counts = {f"{kind}s": str(sum(each["status"] == status for each in comparisons)) for status, kind in kinds.items()}
    attributes = {"name": f"{report['measure']} gate", "tests": str(len(comparisons)), **counts}
    suite = ElementTree.Element("testsuite", attributes)
    for each in comparisons:
        case = ElementTree.SubElement(suite, "testcase", classname=_xml(each["system"]), name=_xml(each["dataset"]))
        if each["status"] in kinds:
            problem = ElementTree.SubElement(case, kinds[each["status"]], message=_xml(each["reason"]))
            problem.text = _xml(_details(each))  # GitLab shows the text and not the message, Jenkins both
    with atomic_path(path) as partial:
        ElementTree.ElementTree(suite).write(partial, encoding="utf-8", xml_declaration=True)


def _details(each: Mapping[str, Any]) -> str:
    """Say why a comparison failed, with its numbers if there are any."""
    if each["mean"] is None:
        return str(each["reason"])
    interval = "" if each["low"] is None else f" ({each['low']:+.4f} to {each['high']:+.4f})"
    lines = [
        each["reason"],
        f"here {each['mean']:.4f}, baseline ({each['against']}) {each['baseline_mean']:.4f}",
        f"difference {each['difference']:+.4f}{interval}, p {each['p_holm']:.2g}",
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
        f"{measure} beside {_cell(report['baseline'])}; a significant loss of more than {tolerance:g} fails. “Would detect” is "
        "the smallest difference that these queries show with a power of 80 %.",
        "",
        "| system | dataset | here | baseline | difference (95 %) | p (Holm) | would detect | |",
        "|---|---|---|---|---|---|---|---|",
        *(_row(each) for each in report["comparisons"]),
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
        return f"{names} | | | | | {NOT_COMPARABLE}: {_cell(each['reason'])} |"
    interval = "" if each["low"] is None else f" ({each['low']:+.4f} to {each['high']:+.4f})"
    detectable = "" if each["detectable"] is None else f"{each['detectable']:.4f}"
    numbers = f"{each['mean']:.4f} | {each['baseline_mean']:.4f} | {each['difference']:+.4f}{interval} | {each['p_holm']:.2g}"
    return f"{names} {numbers} | {detectable} | {each['status']} |"


def _query(query: Mapping[str, Any], shown: set[tuple[str, str]], address: str) -> str:
    """Return a query, with a link into the report if it shows it."""
    text = _cell(f"{query['corpus']} {query['query']}: {query['text'][:120]}")
    if (query["corpus"], query["query"]) not in shown:
        return text
    return f"[{text}]({address}#query={quote(query['corpus'], safe='')}/{quote(query['query'], safe='')})"


def _cell(text: str) -> str:
    """Return a text for a table of Markdown, in which nothing is markup."""
    return NOT_IN_A_CELL.sub(r"\\\1", " ".join(text.split()))
