"""The page of the BEIR paper besides its scores: every part, what is missing, and the limits of the comparison."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from beirflow.core.csv_files import read_named_csv
from beirflow.core.records import Job, read_json
from beirflow.extensions.beir_paper.corpus_tables import MEDIANS, PAIRS
from beirflow.extensions.beir_paper.layout import FIGURE_PDF, FIGURE_SVG, TABLE
from beirflow.extensions.beir_paper.page_tables import PAGE_TABLES
from beirflow.extensions.beir_paper.printed_values import load_paper, printed_digests
from beirflow.extensions.beir_paper.registry import FIGURES, TABLES
from beirflow.extensions.papers.findings_table import findings_table
from beirflow.report.pages import Notes, Table, embedded, framed, record_derived_files, write_page

Record = Mapping[Any, Any]  # a row of a CSV


def write_paper(
    *, folder: str, other_paths: Sequence[str], manifest_path: str, page_path: str, record_path: str, job: Job
) -> None:
    """Write the page and a record of it, its tables and figures, and ``other_paths``."""
    paper = load_paper()
    tables = {name: read_named_csv(_file(folder, TABLE(table=name))) for name in TABLES}
    bias = tables["bias"]
    sections = [
        (findings_table(tables["findings"], name="findings"), []),
        page_table("table-1", tables["table-1"], lambda row: row["note"]),
        efficiency_table(tables["efficiency"]),
        page_table("bias", bias[bias["pooled"].astype(bool) | bias["extra"].notna()]),
        page_table(PAIRS, tables[PAIRS]),
        page_table(MEDIANS, tables[MEDIANS]),
    ]
    sections = [(table, lines) for table, lines in sections if table.rows]
    for table, lines in sections:
        lines += [f"Printed values: {paper.places[table.name]}."] if table.name in paper.places else []
    systems = dict.fromkeys(bias["system"])
    values = {
        "title": "beirflow: the BEIR paper",
        "written": read_json(manifest_path)["written"].partition("T")[0],
        "standing": [(paper.systems[name], name) for name in systems if name in paper.systems],
        "own": [name for name in systems if name not in paper.systems],
        "missing": [f"{entry['part']}: {entry['missing']}." for entry in paper.scope if "missing" in entry],
        "sections": sections,
        "figures": [_figure(folder, name) for name in FIGURES],
    }
    write_page("beir_paper.html.j2", page_path, values)
    written = [_file(folder, TABLE(table=name)) for name in TABLES]
    written += [_file(folder, kind(figure=name)) for name in FIGURES for kind in (FIGURE_PDF, FIGURE_SVG)]
    paths = [page_path, *written, *other_paths]
    printed = printed_digests()
    record_derived_files(paths=paths, manifest_path=manifest_path, record_path=record_path, job=job, printed=printed)


def page_table(name: str, table: pd.DataFrame, note: Callable[[Record], object] = lambda _: "") -> tuple[Table, list[str]]:
    """Arrange the content of a CSV for the page; ``note`` returns the note of a row. Return the table and its notes."""
    of_page, notes = PAGE_TABLES[name], Notes()
    shown = framed(of_page.title, of_page.caption, table, of_page.columns, name=name, **of_page.options)
    records = zip(shown.rows, table.to_dict("records"), strict=True)
    rows = [[replace(cells[0], note=notes.letter(note(row))), *cells[1:]] for cells, row in records]
    return replace(shown, rows=rows), notes.lines()


def efficiency_table(table: pd.DataFrame) -> tuple[Table, list[str]]:
    """Arrange the table of latency and index size for the page, with the machine of each measurement in a note."""

    def note(row: Record) -> str:
        """Return the machine of a measurement."""
        cores = "" if row["threads"] != row["threads"] else f"{row['threads']:.0f} threads of {row['processor']}"
        return "; ".join(filter(None, [cores, *(row[key] for key in ("gpu", "note") if isinstance(row[key], str))]))

    return page_table("efficiency", table, note)


def _file(folder: str, path: str) -> str:
    """Return the path of a file of the paper, given below the results."""
    return str(Path(folder, Path(path).name))


def _figure(folder: str, name: str) -> Mapping[str, str]:
    svg = Path(_file(folder, FIGURE_SVG(figure=name)))
    files = {kind: f"{name}.{kind}" for kind in ("pdf", "svg")}
    return {**embedded(FIGURES[name].title, FIGURES[name].alt, svg), **files, "table": f"{FIGURES[name].table}.csv"}


def counted_files(words_paths: Sequence[str], statistics_paths: Sequence[str], latency_paths: Sequence[str]) -> list[str]:
    """Join the files of ``count_corpus`` and ``measure_latency``, for the record of the page."""
    return [*words_paths, *statistics_paths, *latency_paths]
