"""Self-contained HTML pages: one file each, without network access.

Templates, style and scripts are in ``workflow/report``. All data are text that the templates escape, and the content security
policy of a page allows only its own script.
"""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from beirflow import WORKFLOW
from beirflow.core.digests import file_digest
from beirflow.core.extensions import with_extensions
from beirflow.core.records import Job, write_record
from beirflow.core.writing import write_text

TEMPLATES = WORKFLOW / "report"

HEATS = 6  # shades of a column by nearness to its best number; the style has one for each


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    label: str  # header
    form: str | Callable[[float], str] = ".4f"  # of numbers, Python's or a function
    number: bool = True  # whether it holds numbers: right-aligned, sorted by value
    classes: str = "number"  # CSS classes
    unit: float = 1  # divisor of the values of a frame


def words(label: str, classes: str = "") -> Column:
    """Return a column of words."""
    return Column(label, number=False, classes=classes)


def texts(classes: str = "", **labels: str) -> dict[str, Column]:
    """Return columns of words by key, each with its header."""
    return {key: words(label, classes) for key, label in labels.items()}


def numbers(form: str | Callable[[float], str], *, unit: float = 1, classes: str = "number", **labels: str) -> dict[str, Column]:
    """Return columns of numbers of one form by key, each with its header."""
    return {key: Column(label, form, classes=classes, unit=unit) for key, label in labels.items()}


DATASET, SYSTEM = words("Dataset", "stub"), words("System", "stub")

MOST_FLAT = 6  # number of columns above which headers are rotated


def number_columns(labels: Iterable[str], first: int = 0) -> list[Column]:
    """Return columns of numbers, with a separator before number ``first``; many columns have rotated headers."""
    names = list(labels)
    upright = " upright" if len(names) > MOST_FLAT else ""
    return [
        Column(label, classes=("number group" if first and i == first else "number") + upright) for i, label in enumerate(names)
    ]


Columns = Mapping[str, Column | Mapping[str, Column]]
"""By key of a frame the columns from left to right; those below a header of their own are a mapping by that header."""


@dataclass(frozen=True)
class Span:
    """A mean with its interval, drawn in a cell; places are percentages of the width."""

    low: float
    mean: float
    high: float
    filled: bool  # whether the mean is a filled point


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    text: str  # displayed text
    value: float | None = None  # sort key in a column of numbers; None sorts last
    best: bool = False  # whether it is marked as the best
    note: str = ""  # letter or mark that a note below the table explains
    heat: int = 0  # shade, up to ``HEATS``; 0 for none
    below: str = ""  # second line, so that numbers stay aligned
    span: Span | None = None  # drawn in place of the text


@dataclass(frozen=True)
class Scale:
    """The axis of the spans of a table."""

    first: float
    last: float
    step: float  # from tick to tick
    marked: float  # value of a line through all rows; not-a-number for none

    def place(self, value: float) -> float:
        """Return the place of a value, in percent of the width."""
        return round(100 * (value - self.first) / (self.last - self.first), 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Places and labels of the ticks."""
        values = [self.first + self.step * number for number in range(round((self.last - self.first) / self.step) + 1)]
        return [(self.place(value), f"{value:.3f}".rstrip("0").ljust(4, "0")) for value in values]

    def cell(self, low: float, mean: float, high: float, filled: bool) -> Cell:
        """Return the cell that draws a mean; its interval may be unknown."""
        bounds = (mean, mean) if low != low else (low, high)
        return Cell("", mean, span=Span(self.place(bounds[0]), self.place(mean), self.place(bounds[1]), filled))


@dataclass(frozen=True)
class Table:
    """A sortable table."""

    name: str  # unique on the page
    title: str  # title of its section
    caption: str  # description
    columns: Sequence[Column]  # from left to right; the first names the row
    rows: Sequence[Sequence[Cell]]  # cells by row
    # headers above all columns but the first, each with the number of columns that it spans
    groups: Sequence[tuple[str, int]] = ()
    tall: bool = False  # whether it scrolls in a frame of limited height
    close: bool = False  # whether its columns are narrow
    notes: Sequence[str] = ()  # sentences below it
    scale: Scale | None = None  # of a column of the class ``plot``


class Notes:
    """Notes of a table, lettered in the order of first mention."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def letter(self, text: object) -> str:
        """Return the letter of a text; none for an empty or missing one."""
        return self._letters.setdefault(text, ascii_lowercase[len(self._letters) % 26]) if isinstance(text, str) and text else ""

    def lines(self) -> list[str]:
        """Return the letters with their texts."""
        return [f"{letter}: {text}" for text, letter in self._letters.items()]


def number(value: Any, form: str | Callable[[float], str] = ".4f") -> Cell:
    """Return a cell for a number, with a true minus sign; an empty one for None and not-a-number."""
    if value is None or value != value:
        return Cell("")
    text = format(value, form) if isinstance(form, str) else form(value)
    return Cell(text.replace("-", "−"), float(value))


def framed(
    title: str,
    caption: str,
    frame: pd.DataFrame,
    columns: Columns,
    *,
    without: Collection[str] = (),
    name: str = "",
    **options: Any,
) -> Table:
    """Build a table from a data frame, ``without`` some of the columns; ``options`` are fields of :class:`Table`.

    A :class:`Cell` is used as is; unknown numbers, and non-text in a column of words, are empty. A column without any content is
    left out.
    """
    shown, groups, rows = list[Column](), list[tuple[str, int]](), [list[Cell]() for _ in range(len(frame))]
    for label, entry in columns.items():
        members = {label: entry} if isinstance(entry, Column) else entry
        members = {key: column for key, column in members.items() if key not in without and _has_content(frame, key)}
        if shown and members:  # the first column has no group
            groups.append(("" if isinstance(entry, Column) else label, len(members)))
        for place, (key, column) in enumerate(members.items()):
            starts = label and not place and not isinstance(entry, Column)
            shown.append(replace(column, classes=f"{column.classes} group".lstrip()) if starts else column)
            for row, value in zip(rows, frame[key], strict=True):
                row.append(value if isinstance(value, Cell) else _cell(value, column))
    return Table(name, title, caption, shown, rows, groups if any(label for label, _ in groups) else [], **options)


def _has_content(frame: pd.DataFrame, key: str) -> bool:
    """Test whether any cell of a column will have text; also for a frame without rows."""
    return key in frame and (frame.empty or bool((frame[key].notna() & (frame[key] != "")).any()))


def _cell(value: Any, column: Column) -> Cell:
    if not column.number or value is None or value != value:
        return Cell(value if isinstance(value, str) else "")
    return number(value / column.unit, column.form)


def short(value: float) -> str:
    """Return a number with three significant digits, or whole from 100 on."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def least(value: float) -> str:
    """Return a short number, or ``< 0.001``."""
    return "< 0.001" if 0 < value < 0.001 else short(value)


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: Sequence[str]) -> str:
    """Join names as an English list."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def embedded(title: str, alt: str, svg: Path) -> dict[str, str]:
    """Return a figure for a template, embedded as an image, which isolates it from the page."""
    return {"title": title, "alt": alt, "data": b64encode(svg.read_bytes()).decode()}


def write_page(template: str, path: str | Path, values: Mapping[str, Any], *, scripts: Sequence[str] = ()) -> None:
    """Render a template with escaped values as ``report``, and write the page with the given scripts.

    Template and scripts are files in ``workflow/report``, or in ``report`` of an extension; a template that extends
    ``page.html.j2`` needs ``title``.
    """
    code = {name: _own(files) for name, files in (("style", ["report.css"]), ("script", scripts)) if files}
    page = _templates().get_template(template).render(report=values, policy=_policy(code), **({"script": None} | code))
    write_text(path, page)


@cache  # compiling a template takes longer than rendering it
def _templates() -> Environment:
    # A missing value is an error, not a gap on the page.
    environment = Environment(
        loader=FileSystemLoader(with_extensions(TEMPLATES)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":"), "allow_nan": False}
    return environment


def _own(files: Sequence[str]) -> Markup:
    """Return files of the project, unescaped."""
    environment = _templates()
    loader: Any = environment.loader
    return Markup("\n".join(loader.get_source(environment, file)[0] for file in files))  # noqa: S704


def _policy(code: Mapping[str, str]) -> str:
    """Return the content security policy: only the page's own style and script, and embedded images."""
    allowed = [f"{name}-src 'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for name, text in code.items()]
    return "; ".join(["default-src 'none'", "img-src data:", "base-uri 'none'", "form-action 'none'", *allowed])


def record_derived_files(*, paths: Sequence[str], manifest_path: str, record_path: str, job: Job, **fields: Any) -> None:
    """Write the record of derived files with the manifest of their results and further fields."""
    outputs = {path: file_digest(path) for path in paths}
    write_record(record_path, job, inputs={manifest_path: file_digest(manifest_path)}, outputs=outputs, **fields)
