"""The page of a paper: every printed value beside the computed one, its findings, and what is missing."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from beirflow.core.csv_files import write_csv
from beirflow.core.digests import file_digest
from beirflow.core.records import Job, read_json
from beirflow.evaluation.scores import read_means
from beirflow.extensions.papers.compare import BARRED, DIFFERS, EQUAL, NOT_RUN, WITHIN, Cell, Comparison, counts_of, verdict_on
from beirflow.extensions.papers.files import paper_files
from beirflow.extensions.papers.layout import CELLS, FINDINGS
from beirflow.extensions.papers.read import Entry, Paper, read_paper
from beirflow.extensions.papers.runs import Runs
from beirflow.report.pages import Cell as Shown
from beirflow.report.pages import Column, Notes, Table, number, record_derived_files, words, write_page

MARKS = {EQUAL: "=", WITHIN: "≈", DIFFERS: "≠", BARRED: "×", NOT_RUN: "–"}
"""Verdicts in a column as narrow as a sign."""

COLUMNS = ("says", "place", "compare", "measure", "printed", "found_printed", "here", "found_here")
"""Columns of ``findings.csv``."""

IN_WORDS = {
    EQUAL: "equal in all printed digits",
    WITHIN: "within a tolerance",
    DIFFERS: "different",
    BARRED: "not comparable",
    NOT_RUN: "not run",
}


def compare_paper(
    *,
    paper_path: str,
    means_paths: Sequence[str],
    described: Mapping[str, Entry],
    manifest_path: str,
    page_path: str,
    record_path: str,
    job: Job,
) -> str:
    """Write the page of a paper, its values and findings as CSV, and their record; return the verdict for the terminal.

    ``described`` has the settings of the configured systems. Raises ConfigError for a file that cannot be used, DataError if
    results were changed after they were written.
    """
    paper = read_paper(Path(paper_path))
    records = [read_means(path) for path in dict.fromkeys(means_paths)]
    means = {(each["system"], each["dataset"]): each for each in records}
    cells_path, findings_path = (Path(page_path).with_name(Path(each).name) for each in (CELLS, FINDINGS))
    comparison = Comparison(paper, means, described, Runs(job.results))
    cells = comparison.cells()
    findings = comparison.findings(cells)
    write_csv(pd.DataFrame(cells, columns=list(Cell._fields)), cells_path)
    write_csv(pd.DataFrame(findings, columns=list(COLUMNS)), findings_path)
    verdict = sentence_on(cells)
    values = {
        "title": f"{paper.content['title']}: printed and computed",
        "paper": paper.content,
        "written": read_json(manifest_path)["written"].partition("T")[0],
        "verdict": verdict,
        "marks": [(mark, IN_WORDS[each]) for each, mark in MARKS.items()],
        "systems": [_of_system(paper, name, cells) for name in paper.systems],
        "findings": _findings_table(findings) if findings else None,
        "needed": _needed(cells),
        "sources": [(name, _source_in_words(source)) for name, source in paper.content["sources"].items()],
    }
    write_page("printed_values.html.j2", page_path, values, scripts=["tables.js"])
    record_derived_files(
        paths=[page_path, str(cells_path), str(findings_path)],
        manifest_path=manifest_path,
        record_path=record_path,
        job=job,
        printed={paper.path.name: file_digest(paper.path)},
        verdict=verdict_on(cells),
        values=counts_of(cells),
    )
    return f"{paper.content['title']}: {verdict}\nThe page: {page_path}"


def printed_digest(name: str) -> dict[str, dict[str, str]]:
    """Return the digest of a file of the project, as the record of its page has it."""
    path = paper_files()[name]
    return {"printed": {path.name: file_digest(path)}}


def sentence_on(cells: Sequence[Cell]) -> str:
    """Return the verdict on a table as a sentence."""
    counts = counts_of(cells)
    computed = len(cells) - counts[NOT_RUN]
    parts = [f"{number} {IN_WORDS[each]}" for each, number in counts.items() if number and each != NOT_RUN]
    found = f"{verdict_on(cells)}: {computed} of {len(cells)} printed values are computed here"
    return f"{found}{': ' if parts else ''}{', '.join(parts)}."


def _of_system(paper: Paper, system: str, cells: Sequence[Cell]) -> dict[str, Any]:
    """Return what the page shows of a system: its table with notes, and its facts."""
    own, entry = [each for each in cells if each.system == system], paper.systems[system]
    measures, notes = [each for each in paper.content["measures"] if any(cell.measure == each for cell in own)], Notes()
    decimals = paper.of_system(system, "decimals")
    by_place = {(each.dataset, each.measure): each for each in own}
    rows = []
    for dataset in dict.fromkeys(each.dataset for each in own):
        row = [Shown(dataset)]
        for measure in measures:
            row += _shown(by_place.get((dataset, measure)), decimals, notes)
        rows.append(row)
    columns = [words("Dataset", "stub")]
    for _ in measures:
        columns += [Column("Printed", classes="number group"), Column("Here"), words("Verdict")]
    configured = own[0].configured if own else ""
    facts = {
        "here": configured,
        "settings": ", ".join(f"{key}: {value}" for key, value in entry["settings"].items()),
        "source": own[0].source if own else "",
        "conventions": paper.of_system(system, "conventions"),
        "note": entry["note"],
        "needs": entry["needs"],
    }
    name = f"system-{list(paper.systems).index(system)}"
    table = Table(name, system, f"{system}: {sentence_on(own)}", columns, rows, [(each, 3) for each in measures])
    return {"table": table, "notes": notes.lines(), "facts": [(key, value) for key, value in facts.items() if value]}


def _shown(cell: Cell | None, decimals: int, notes: Notes) -> list[Shown]:
    """Return the cells of a value: printed, computed, verdict; the cause of a difference is a note."""
    if cell is None:
        return [Shown(""), Shown(""), Shown("")]
    cause = cell.cause if cell.verdict != NOT_RUN else ""
    here = number(cell.by_source, f".{decimals + 1}f")
    return [number(cell.printed, f".{decimals}f"), here, Shown(MARKS[cell.verdict], note=notes.letter(cause))]


def _findings_table(findings: Sequence[Mapping[str, str]]) -> Table:
    columns = [words("Finding", "prose"), words("Decided by"), words("Printed"), words("found"), words("Here"), words("found")]
    keys = ("says", "compare", "printed", "found_printed", "here", "found_here")
    rows = [[Shown(each[key]) for key in keys] for each in findings]
    return Table("findings", "Findings", "Findings that are comparisons, on the printed values and on those here", columns, rows)


def _needed(cells: Sequence[Cell]) -> list[str]:
    """Return what values that are not run need, and how many do."""
    needed: dict[str, int] = {}
    for each in cells:
        if each.verdict == NOT_RUN:
            needed[each.cause] = needed.get(each.cause, 0) + 1
    return [f"{what} ({number} values)" for what, number in needed.items()]


def _source_in_words(source: Entry) -> str:
    kinds = ("repo", "path", "commit", "url", "transcription", "manifest", "place", "note")
    return "; ".join(f"{key} {source[key]}" for key in kinds if key in source)
