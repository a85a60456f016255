"""Tables of the report for papers and notes: LaTeX with booktabs, and Markdown.

Each table of :data:`~beirflow.report.registry.TABLES` is written as ``<name>.tex`` and ``<name>.md``; where there is no such
table, the file says so. ``datasets.bib`` has BibTeX of the datasets.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from beirflow.core.csv_files import read_named_csv
from beirflow.core.layout import CITATIONS, TABLE_MD, TABLE_TEX
from beirflow.core.writing import write_text
from beirflow.evaluation.summary import PUBLISHED
from beirflow.report import leaderboard as boards
from beirflow.report.pages import Cell, Table
from beirflow.report.tables import Sources, bibtex, datasets_table, holes_table, main_measures, significance_table, systems_table

ABSENT = "these results have no such table"

LATEX = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\n": " ",
    "−": "$-$",
    "·": r"$\cdot$",
    "±": r"$\pm$",
    "§": r"\S{}",
    "“": "``",
    "”": "''",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "¶": r"\P{}",
    "–": "--",
    "▲": r"$^{\blacktriangle}$",
    "▼": r"$^{\blacktriangledown}$",
}
"""LaTeX of special and missing characters; the triangles are those of ``amssymb``."""


def export_tables(
    *,
    summary_path: str,
    comparison_path: str,
    uncertainty_path: str,
    systems_path: str,
    baseline: str,
    results: Path,
    references_path: str | None = None,
) -> None:
    """Write the tables of summary, significance, uncertainty and systems, all of them CSV, into the folder of the results."""
    summary, comparison, uncertainty = map(read_named_csv, (summary_path, comparison_path, uncertainty_path))
    references = read_named_csv(references_path) if references_path else None
    measures, sources = main_measures(summary), Sources()
    by_measure = {}
    for measure in measures:
        marks = boards.significance_marks(comparison, measure, baseline)
        sentences = boards.notes(summary, bool(marks), baseline, uncertainty, references)
        by_measure[measure] = boards.leaderboard(summary, measure, marks, references), sentences
    kinds = {table.name: (table, over) for table, over in boards.kind_tables(summary, measures[0])}
    published = boards.published_table(summary, measures[0], sources)
    tables = {
        "leaderboard": by_measure[measures[0]],
        "recall": by_measure.get(PUBLISHED[1], (None, [])),
        "published": (published, sources.lines()),
        "tasks": kinds.get("by-task", (None, [])),
        "domains": kinds.get("by-domain", (None, [])),
        "holes": (holes_table(summary), []),
        "ranks": (boards.ranks_table(uncertainty, measures[0]), []),
        "significance": (significance_table(comparison), []),
        "uncertainty": (boards.uncertainty_table(uncertainty), []),
        "systems": (systems_table(read_named_csv(systems_path)), []),
        "datasets": (datasets_table(summary), []),
    }
    write_tables(tables, str(results))
    write_text(Path(results, CITATIONS()), bibtex(summary["dataset"]) or "% no dataset of the catalogue\n")


def write_tables(tables: Mapping[str, tuple[Table | None, Sequence[str]]], folder: str) -> None:
    """Write tables, each with its notes, in both forms; None is a table that these results lack."""
    for name, (table, sentences) in tables.items():
        tex = "".join(f"% {line}\n" for line in sentences) + as_latex(table) if table else f"% {ABSENT}\n"
        lines = "".join(f"- {markdown(line)}\n" for line in sentences)
        for_notes = as_markdown(table) + ("\n" + lines if lines else "") if table else f"<!-- {ABSENT} -->\n"
        for pattern, text in ((TABLE_TEX, tex), (TABLE_MD, for_notes)):
            write_text(Path(folder, pattern(table=name)), text)


def as_latex(table: Table) -> str:
    """Convert a table to a LaTeX ``tabular``, which needs the packages ``booktabs`` and, for marks, ``amssymb``."""
    alignment = "".join("r" if column.number else "l" for column in table.columns)
    head = [f"% {' '.join(table.caption.split())}; needs \\usepackage{{booktabs,amssymb}}", rf"\begin{{tabular}}{{{alignment}}}"]
    groups = [rf"\multicolumn{{{span}}}{{c}}{{{latex(label)}}}" for label, span in table.groups]
    head += [r"\toprule", *([" & ".join(["", *groups]) + r" \\"] if groups else [])]
    head += [" & ".join(latex(column.label) for column in table.columns) + r" \\", r"\midrule"]
    rows = [" & ".join(_latex_cell(cell) for cell in row) + r" \\" for row in table.rows]
    return "\n".join([*head, *rows, r"\bottomrule", r"\end{tabular}", ""])


def latex(text: str) -> str:
    """Escape the special characters of LaTeX in a text."""
    return "".join(LATEX.get(letter, letter) for letter in text)


def _latex_cell(cell: Cell) -> str:
    text = rf"\textbf{{{latex(cell.text)}}}" if cell.best else latex(cell.text)
    mark = LATEX.get(cell.note) or (rf"$^{{\mathrm{{{cell.note}}}}}$" if cell.note else "")
    return text + mark


def as_markdown(table: Table) -> str:
    """Convert a table to Markdown, as GitHub and others read it."""
    labels = [column.label for column in table.columns]
    if table.groups:  # Markdown has a single header row
        spans = ["", *(label for label, span in table.groups for _ in range(span))]
        labels = [f"{group} {label}".strip() for group, label in zip(spans, labels, strict=True)]
    rule = ["---:" if column.number else ":---" for column in table.columns]
    rows = [[_markdown_cell(cell) for cell in row] for row in table.rows]
    lines = [[markdown(label) for label in labels], rule, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def markdown(text: str) -> str:
    """Join the lines of a text, and escape the special characters of Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>|~])", r"\\\1", " ".join(text.split("\n")))


def _markdown_cell(cell: Cell) -> str:
    text = markdown(cell.text)
    return (f"**{text}**" if cell.best and text else text) + cell.note
