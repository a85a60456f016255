"""Tables of the report for papers and notes: LaTeX with booktabs, and Markdown.

Each registered table is written as ``<name>.tex`` and ``<name>.md``; where there is no such table, the file says so.
``datasets.bib`` has BibTeX of the datasets.
"""

import re
from dataclasses import replace

from beirflow.core.layout import CITATIONS, TABLE_MD, TABLE_TEX
from beirflow.core.writing import write_text
from beirflow.report.pages import Cell, Table
from beirflow.report.registry import registered
from beirflow.report.results import Results
from beirflow.report.tables import bibtex

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


def export_tables(*, shared: Results) -> None:
    """Write all tables into the folder of the results, in both forms and with their notes, and the BibTeX of the datasets."""
    for name, made in registered("table").items():
        table = next(made(shared), None)
        tex, text = f"% {ABSENT}\n", f"<!-- {ABSENT} -->\n"
        if table and table.rows:
            lines = "".join(f"- {markdown(note)}\n" for note in table.notes)
            tex = "".join(f"% {note}\n" for note in table.notes) + as_latex(table)
            text = as_markdown(table) + ("\n" + lines if lines else "")
        write_text(shared.folder / TABLE_TEX(table=name), tex)
        write_text(shared.folder / TABLE_MD(table=name), text)
    write_text(shared.folder / CITATIONS(), bibtex(shared.summary["dataset"]) or "% no dataset of the catalogue\n")


def as_latex(table: Table) -> str:
    """Convert a table to a LaTeX ``tabular``, which needs the packages ``booktabs`` and, for marks, ``amssymb``."""
    table = _without_plots(table)
    alignment = "".join("r" if column.number else "l" for column in table.columns)
    head = [f"% {' '.join(table.caption.split())}; needs \\usepackage{{booktabs,amssymb}}", rf"\begin{{tabular}}{{{alignment}}}"]
    groups = [rf"\multicolumn{{{span}}}{{c}}{{{latex(label)}}}" for label, span in table.groups]
    head += [r"\toprule", *([" & ".join(["", *groups]) + r" \\"] if groups else [])]
    head += [" & ".join(latex(column.label) for column in table.columns) + r" \\", r"\midrule"]
    rows = [" & ".join(_latex_cell(cell) for cell in row) + r" \\" for row in table.rows]
    return "\n".join([*head, *rows, r"\bottomrule", r"\end{tabular}", ""])


def _without_plots(table: Table) -> Table:
    """Leave out columns that are drawn."""
    kept = [place for place, column in enumerate(table.columns) if "plot" not in column.classes]
    rows = [[row[place] for place in kept] for row in table.rows]
    return replace(table, columns=[table.columns[place] for place in kept], rows=rows)


def latex(text: str) -> str:
    """Escape the special characters of LaTeX in a text."""
    return "".join(LATEX.get(letter, letter) for letter in text)


def _latex_cell(cell: Cell) -> str:
    text = rf"\textbf{{{latex(cell.text)}}}" if cell.best else latex(cell.text)
    marks = "".join(LATEX.get(mark) or rf"$^{{\mathrm{{{mark}}}}}$" for mark in cell.note)
    return " ".join(filter(None, [text + marks, latex(cell.below)]))


def as_markdown(table: Table) -> str:
    """Convert a table to Markdown, as GitHub and others read it."""
    table = _without_plots(table)
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
    return " ".join(filter(None, [(f"**{text}**" if cell.best and text else text) + cell.note, cell.below]))
