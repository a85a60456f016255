"""CSV files for people, spreadsheets and other programs: every cell stays one cell, and no text is run as a formula."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import pandas as pd

from beirflow.core.writing import atomic_path

FORMULA = re.compile(r"[=+\-@\t\r]")
"""First characters by which spreadsheets know formulas, https://owasp.org/www-community/attacks/CSV_Injection."""

NAMES = (
    *("system", "dataset", "system_a", "system_b", "setting", "value", "model_says"),
    *("dataset_a", "dataset_b", "datasets", "of", "baseline", "best_printed", "best_here", "numbers", "note"),
)
"""Columns that hold names and other texts."""


def write_csv(table: pd.DataFrame, path: str | Path) -> None:
    """Write a table without its index, whole or absent; missing parent folders are made."""
    with atomic_path(path) as partial:
        partial.write_text(csv_text(table), encoding="utf-8", newline="")


def csv_text(table: pd.DataFrame) -> str:
    r"""Return a table without its index as CSV with rows that end in ``\n``; an apostrophe precedes texts like formulas."""
    safe, lines = table.copy(deep=False), _Lines()
    for name, column in table.select_dtypes(exclude="number").items():
        safe[name] = pd.Series(map(_without_formula, column), column.index, column.dtype)
    safe.to_csv(lines, index=False, lineterminator="\r\n")
    return lines.getvalue()


def _without_formula(cell: Any) -> Any:
    """Return a cell as it is, unless it is a text like a formula."""
    is_formula = isinstance(cell, str) and FORMULA.match(cell) and not _is_number(cell)
    return f"'{cell}" if is_formula else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class _Lines(io.StringIO):
    r"""The lines of a CSV writer, whose terminator is shortened to ``\n``.

    Python 3.11 and 3.12 quote a carriage return only if the terminator has one, and readers end a row at one without quotes.
    """

    def write(self, line: str, /) -> int:
        """Add a line, which the writer hands over as a whole."""
        return super().write(line.removesuffix("\r\n") + "\n")


def read_named_csv(path: str) -> pd.DataFrame:
    """Read a CSV of the results: a name stays what it is, also one like ``NA`` or ``007``, and only an empty cell is missing."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=dict.fromkeys(NAMES, str))


def read_cells(text: str) -> list[list[str]]:
    """Return the header and the rows of a CSV that :func:`csv_text` wrote, or that every program reads as one that it wrote.

    Raises ValueError if a column comes twice, a row has more or fewer cells, or quotes or line ends are others.
    """
    cells, lines = list(csv.reader(io.StringIO(text, newline=""), strict=True)), _Lines()
    csv.writer(lines, lineterminator="\r\n").writerows(cells)
    names = cells[0] if cells else []
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"the column {twice[0]!r} comes twice")
    if ragged := next((line for line, row in enumerate(cells, 1) if len(row) != len(names)), 0):
        raise ValueError(f"line {ragged} has {len(cells[ragged - 1])} cells, expected {len(names)}")
    # Written again, since readers accept more than writers produce.
    if lines.getvalue() != text:
        raise ValueError("it has other quotes or line ends")
    return cells
