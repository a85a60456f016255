"""Self-contained HTML pages: one file each, without network access.

Templates, style and scripts are in ``workflow/report``. All data are text that the templates escape, and the content security
policy of a page allows only its own script.
"""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from beirflow.core.digests import file_digest
from beirflow.core.extensions import with_extensions
from beirflow.core.records import Job, write_record
from beirflow.core.writing import write_text
from beirflow.data.catalogue.schema import read_yaml
from beirflow.report.registry import TEMPLATES, Figure

HEATS = 6  # shades of a column by nearness to its best number; the style has one for each


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    label: str  # header
    number: bool = True  # whether it holds numbers: right-aligned, sorted by value
    classes: str = "number"  # CSS classes


def words(label: str, classes: str = "") -> Column:
    """Return a column of words."""
    return Column(label, number=False, classes=classes)


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    text: str  # displayed text
    value: float | None = None  # sort key in a column of numbers; None sorts last
    best: bool = False  # whether it is marked as the best
    note: str = ""  # letter or mark that a note below the table explains
    heat: int = 0  # shade, up to ``HEATS``; 0 for none


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


def number(value: Any, form: str = ".4f") -> Cell:
    """Return a cell for a number, with a true minus sign; an empty one for None and not-a-number."""
    missing = value is None or value != value
    return Cell("") if missing else Cell(format(value, form).replace("-", "−"), float(value))


def framed(name: str, frame: pd.DataFrame, without: Collection[str] = (), **named: str) -> Table:
    """Build a table of ``workflow/report/tables.yaml`` from a data frame, ``without`` some columns.

    ``named`` fills in the names in braces. A :class:`Cell` is used as is; unknown numbers, and non-text in a column of words, are
    empty.
    """
    about: dict[str, Any] = {
        key: value.format(**named) if isinstance(value, str) else value for key, value in shown_tables()[name].items()
    }
    columns, groups, rows = list[Column](), list[tuple[str, int]](), [list[Cell]() for _ in range(len(frame))]
    for label, entry in about.pop("columns").items():
        is_group = isinstance(entry, dict) and "label" not in entry
        members = {key.format(**named): each for key, each in (entry if is_group else {label: entry}).items()}
        members = {key: each for key, each in members.items() if key not in without}
        groups += [(label.format(**named), len(members))] if is_group and members else []
        for place, (key, each) in enumerate(members.items()):
            shown = each if isinstance(each, dict) else {"label": each}
            form, starts = shown.get("form"), is_group and label and not place
            classes = shown.get("classes", "number" if form else "") + (" group" if starts else "")
            columns.append(Column(shown["label"].format(**named), form is not None, classes.lstrip()))
            for row, value in zip(rows, frame[key], strict=True):
                row.append(value if isinstance(value, Cell) else _cell(value, form, shown.get("unit", 1)))
    return Table(name.format(**named), columns=columns, rows=rows, groups=groups, **about)


@cache
def shown_tables() -> dict[str, dict[str, Any]]:
    """Return the content of ``tables.yaml`` of the workflow and of extensions, by name of the table.

    Columns that an extension adds to a group follow its first one.
    """
    core, *others = (read_yaml(path) for folder in with_extensions(TEMPLATES) if (path := folder / "tables.yaml").is_file())
    tables: dict[str, dict[str, Any]] = core
    for name, table in (each for more in others for each in more.items()):
        for group, columns in table["columns"].items() if name in tables else ():
            (first, shown), *others = tables[name]["columns"][group].items()
            tables[name]["columns"][group] = {first: shown, **columns, **dict(others)}
        tables.setdefault(name, table)
    return tables


def _cell(value: Any, form: str | None, unit: float) -> Cell:
    if form is None or value is None or value != value:
        return Cell(value if isinstance(value, str) else "")
    return Cell(FORMS[form](value / unit), float(value / unit)) if form in FORMS else number(value / unit, form)


def short(value: float) -> str:
    """Return a number with three significant digits, or whole from 100 on."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _least(value: float) -> str:
    """Return a short number, or ``< 0.001``."""
    return "< 0.001" if 0 < value < 0.001 else short(value)


FORMS: Mapping[str, Callable[[float], str]] = {
    "short": short,
    "least": _least,
    "p": lambda p: "< 0.0001" if p < 0.0001 else f"{p:.4f}",
}
"""Number formats besides those of Python, by name in ``tables.yaml``."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: Sequence[str]) -> str:
    """Join names as an English list."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def embedded(figure: Figure, svg: Path) -> dict[str, str]:
    """Return a figure for a template, embedded as an image, which isolates it from the page."""
    return {"title": figure.title, "alt": figure.alt, "data": b64encode(svg.read_bytes()).decode()}


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
