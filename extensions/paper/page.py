"""The page of the BEIR paper: every part, its sources, the missing parts, and the limits of the comparison."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from beirflow.core.csv_files import read_named_csv
from beirflow.core.records import Job, read_json
from beirflow.extensions.paper.corpus_tables import MEDIANS
from beirflow.extensions.paper.layout import FIGURE_PDF, FIGURE_SVG, TABLE
from beirflow.extensions.paper.page_tables import PAGE_TABLES
from beirflow.extensions.paper.printed_values import Paper, load_paper, printed_digests
from beirflow.extensions.paper.registry import FIGURES, SCORE_TABLES, TABLES
from beirflow.report.pages import (
    Cell,
    Column,
    Notes,
    Table,
    embedded,
    framed,
    number,
    record_derived_files,
    words,
    write_page,
)

PRINTED, HERE = "printed ", "here "  # prefixes of the columns of table 2


Record = Mapping[Any, Any]  # a row of a CSV


def write_paper(
    *, folder: str, other_paths: Sequence[str], manifest_path: str, page_path: str, record_path: str, job: Job
) -> None:
    """Write the page and a record of it, its tables and figures, and ``other_paths``."""
    paper = load_paper()
    tables = {name: read_named_csv(_file(folder, TABLE(table=name))) for name in TABLES}
    ours = [name.removeprefix(HERE) for name in tables["table-2"].columns if name.startswith(HERE)]
    sections: list[tuple[Table, list[str]]] = [page_table("claims", tables["claims"])]
    sections += [scores_table(name, measure, tables[name]) for name, measure in SCORE_TABLES.items()]
    # Below table 2, the first with printed scores.
    sections[1][1].extend(f"Printed scores of {paper.label(name)}: {note}." for name, note in paper.made_otherwise.items())
    sections.append(page_table("table-1", tables["table-1"], lambda row: row["note"]))
    sections.append(efficiency_table(tables["efficiency"]))
    bias = tables["bias"]
    pooled = bias[bias["pooled"].astype(bool) | bias["extra"].notna()]
    sections += [page_table("bias", pooled)] if len(pooled) else []
    sections += [page_table("similarities", pairs)] if len(pairs := tables["similarities"]) else []
    sections.append(page_table(MEDIANS, tables[MEDIANS]))
    for table, lines in sections:
        lines += [f"Printed values: {paper.places[table.name]}."] if table.name in paper.places else []
    standing = paper.standing(ours)
    values = {
        "title": "beirflow: the BEIR paper",
        "written": read_json(manifest_path)["written"].partition("T")[0],
        "standing": [(paper.label(name), system) for name, system in standing.items()],
        "missing": [*_missing(paper, ours, tables["table-2"]), *paper.out_of_scope],
        "barred": [(paper.datasets[name]["label"], entry["reason"]) for name, entry in paper.not_comparable.items()],
        "sections": sections,
        "figures": [_figure(folder, name) for name in FIGURES],
        "parts": [(f"{name}.csv", table.sources) for name, table in TABLES.items()],
        "own": [system for system in ours if system not in standing.values()],
    }
    write_page("paper.html.j2", page_path, values)
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


def scores_table(name: str, measure: str, table: pd.DataFrame) -> tuple[Table, list[str]]:
    """Arrange table 2 for the page: printed, then measured values, the best of each in bold.

    The notes name the datasets of every average.
    """
    systems = {prefix: [column for column in table.columns if column.startswith(prefix)] for prefix in (PRINTED, HERE)}
    notes, rows = Notes(), []
    for row in table.to_dict("records"):
        label, _, members = str(row["dataset"]).partition(": ")
        note = [f"over {members.removesuffix(')')}"] if members else []
        note += [row["note"]] if isinstance(row["note"], str) else []
        cells = [Cell(label + (")" if members else ""), note=notes.letter(". ".join(note)))]
        for prefix, names in systems.items():
            best = str(row.get(f"best_{prefix.strip()}", "")).split(", ")
            form = "+.1%" if label.startswith("difference") else ".3f" if prefix == PRINTED else ".4f"
            cells += [replace(number(row[column], form), best=column.removeprefix(prefix) in best) for column in names]
        rows.append(cells)
    columns = [words("Dataset", "stub")]
    for prefix, names in systems.items():
        classes = ["number upright group", *["number upright"] * len(names)]
        columns += [Column(column.removeprefix(prefix), classes=kind) for column, kind in zip(names, classes, strict=False)]
    groups = [(label, len(systems[prefix])) for label, prefix in (("Printed", PRINTED), ("Measured", HERE)) if systems[prefix]]
    caption = f"{measure} of every system on every dataset"
    return Table(name, f"{measure} (table 2)", caption, columns, rows, groups, close=True), notes.lines()


def _file(folder: str, path: str) -> str:
    """Return the path of a file of the paper, given below the results."""
    return str(Path(folder, Path(path).name))


def _missing(paper: Paper, ours: Sequence[str], table: pd.DataFrame) -> list[str]:
    """Return sentences on the systems and datasets of the paper without results."""
    systems = [paper.label(name) for name in paper.systems if name not in paper.standing(ours)]
    ours_of = table.set_index("dataset").filter(regex=f"^{HERE}").notna().any(axis=1)
    absent = {name: str(entry["label"]) for name, entry in paper.datasets.items() if not ours_of.get(name)}
    datasets = [label for name, label in absent.items() if name not in paper.not_public]
    private = [label for name, label in absent.items() if name in paper.not_public]
    kinds = {
        "Systems of the paper without results": systems,
        "Datasets of the paper without results": datasets,
        "Datasets that are not public, without results": private,
    }
    return [f"{kind}: {', '.join(labels)}." for kind, labels in kinds.items() if labels]


def _figure(folder: str, name: str) -> Mapping[str, str]:
    svg = Path(_file(folder, FIGURE_SVG(figure=name)))
    return {**embedded(FIGURES[name].title, FIGURES[name].alt, svg), "pdf": f"{name}.pdf", "svg": f"{name}.svg"}


def counted_files(words_paths: Sequence[str], statistics_paths: Sequence[str], latency_paths: Sequence[str]) -> list[str]:
    """Join the files of ``count_corpus`` and ``measure_latency``, for the record of the page."""
    return [*words_paths, *statistics_paths, *latency_paths]
