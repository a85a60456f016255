"""The page of a paper: every printed value with the computed one, its findings, and what is missing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from beirflow.config.dependencies import trained_on
from beirflow.config.systems import catalogue_systems
from beirflow.core.csv_files import write_csv
from beirflow.core.digests import file_digest
from beirflow.core.records import Job, read_json
from beirflow.evaluation.scores import read_means
from beirflow.extensions.papers.compare import BARRED, DIFFERS, EQUAL, NOT_RUN, WITHIN, Cell, Comparison, counts_of, verdict_on
from beirflow.extensions.papers.findings import COLUMNS, as_list
from beirflow.extensions.papers.findings_table import findings_table
from beirflow.extensions.papers.read import Entry, Paper, read_paper
from beirflow.extensions.papers.runs import Runs
from beirflow.report.pages import (
    DATASET,
    Column,
    Notes,
    Table,
    counted,
    number,
    record_derived_files,
    words,
    write_page,
)
from beirflow.report.pages import Cell as Shown

VERDICTS = {
    EQUAL: ("=", "equal in all printed digits"),
    WITHIN: ("≈", "within a tolerance"),
    DIFFERS: ("≠", "different"),
    BARRED: ("×", "not comparable"),
    NOT_RUN: ("–", "not run"),
}
"""Signs of verdicts, which fit into a narrow column, and their meaning."""


def compare_paper(
    *, paper_path: str, means_paths: Sequence[str], described: Mapping[str, Entry], manifest_path: str, folder: str, job: Job
) -> str:
    """Write the page of a paper, its values and findings as CSV, and their record; return the verdict for the terminal.

    All are in ``folder``. ``described`` has the settings of the configured systems. Raises ConfigError for a file that cannot be
    used, DataError if results were changed after they were written.
    """
    paper = read_paper(Path(paper_path))
    records = [read_means(path) for path in dict.fromkeys(means_paths)]
    comparison = Comparison(paper, {(each["system"], each["dataset"]): each for each in records}, described, Runs(job.results))
    cells = comparison.cells()
    findings = pd.DataFrame(comparison.findings(cells), columns=list(COLUMNS))
    page, cells_path, findings_path = paths = [str(Path(folder, name)) for name in ("index.html", "cells.csv", "findings.csv")]
    write_csv(pd.DataFrame(cells, columns=list(Cell._fields)), cells_path)
    write_csv(findings, findings_path)
    verdict, title = sentence_on(cells), paper.content["title"]
    tables = [_system_table(paper, name, [each for each in cells if each.system == name]) for name in paper.systems]
    tables += [findings_table(findings)] if len(findings) else []
    values = {
        "title": f"{title}: printed and computed",
        "lead": f"{paper.content['citation']}. {verdict} {read_json(manifest_path)['written'].partition('T')[0]}.",
        "tables": tables,
        "sources": [f"{name}: {in_words(source)}" for name, source in paper.content["sources"].items()],
    }
    write_page("printed_values.html.j2", page, values, scripts=["tables.js"])
    record_derived_files(
        paths=paths,
        manifest_path=manifest_path,
        record_path=str(Path(folder, "index.json")),
        job=job,
        printed={paper.path.name: file_digest(paper.path)},
        verdict=verdict_on(cells),
        values=counts_of(cells),
    )
    return f"{title}: {verdict}\nThe page: {page}"


def sentence_on(cells: Sequence[Cell]) -> str:
    """Return the verdict on a table as a sentence."""
    counts = counts_of(cells)
    parts = [f"{number} {VERDICTS[each][1]}" for each, number in counts.items() if number and each != NOT_RUN]
    found = f"{verdict_on(cells)}: {len(cells) - counts[NOT_RUN]} of {len(cells)} printed values are computed here"
    return f"{found}{': ' if parts else ''}{', '.join(parts)}."


def _system_table(paper: Paper, system: str, cells: Sequence[Cell]) -> Table:
    """Return the values of a system with their verdicts; below it, causes of differences, what is missing, and its facts."""
    measures = [each for each in paper.content["measures"] if any(cell.measure == each for cell in cells)]
    decimals, entry, notes = paper.of_system(system, "decimals"), paper.systems[system], Notes()
    by_place, trained = {(each.dataset, each.measure): each for each in cells}, _trained_on(entry)
    rows = [
        [
            Shown(row, note=notes.letter(f"in-domain: it was trained on it ({trained[row]})" if row in trained else "")),
            *(each for measure in measures for each in _shown(by_place.get((row, measure)), decimals, notes)),
        ]
        for row in dict.fromkeys(each.dataset for each in cells)
    ]
    columns = [DATASET, *[Column("Printed", classes="number group"), Column("Here"), words("Verdict")] * len(measures)]
    missing = Counter(each.cause for each in cells if each.verdict == NOT_RUN)
    facts = {
        "signs": ", ".join(f"{sign} {meaning}" for sign, meaning in VERDICTS.values()),
        "settings of the source": in_words(entry["settings"]),
        **{key: getattr(cells[0], key) for key in ("configured", "source", "conventions")},
        "note": entry["note"],
    }
    lines = [f"Not run: {cause} ({counted(number, 'value')})." for cause, number in missing.items()]
    lines = [*notes.lines(), *lines, "; ".join(f"{key}: {value}" for key, value in facts.items() if value)]
    caption, groups = f"{system}: {sentence_on(cells)}", [(each, 3) for each in measures]
    return Table(f"system-{[*paper.systems].index(system)}", system, caption, columns, rows, groups, notes=lines)


def _trained_on(entry: Entry) -> Mapping[str, str]:
    """Return by dataset the split that the system of the catalogue was trained on, as far as that is stated."""
    systems = catalogue_systems()
    names = [each for each in as_list(entry["system"] or []) if each in systems]
    return (names and trained_on(names[0], systems, {})) or {}


def _shown(cell: Cell | None, decimals: int, notes: Notes) -> list[Shown]:
    """Return the cells of a value: printed, computed, verdict; the cause of a difference is a note."""
    if cell is None:
        return [Shown("")] * 3
    sign = Shown(VERDICTS[cell.verdict][0], note=notes.letter("" if cell.verdict == NOT_RUN else cell.cause))
    return [number(cell.printed, f".{decimals}f"), number(cell.by_source, f".{decimals + 1}f"), sign]


def in_words(entry: Entry) -> str:
    """Return keys with their values in a line."""
    return ", ".join(f"{key} {value}" for key, value in entry.items())
