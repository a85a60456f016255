"""Tables, figures and CSV of the report: each is a function of the results with a decorator, and is known by its name.

The functions are in the modules of this folder, and in ``shown.py`` of extensions. Rules need their names and import nothing
large, so names are read from the sources. Sentences above a table are in ``workflow/report/about/<name>.html.j2``, if there are
any; title, alternative text and caption of a figure in ``workflow/report/<name>.rst``, whose caption Snakemake's own report has.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from beirflow.core.extensions import extensions
from beirflow.run.by_name import by_name

DECORATED = re.compile(r"^@(table|figure|frame)\b.*?^def (\w+)", re.MULTILINE | re.DOTALL)

Made = TypeVar("Made")

EMPTY = "nothing"  # id in the SVG of a figure that has only a sentence on why nothing is drawn, which the page leaves out


@dataclass(frozen=True)
class Shown(Generic[Made]):
    """A function of the results, and the section of the report that has what it returns."""

    make: Callable[[Any], Made]
    section: str = ""

    def __call__(self, results: Any) -> Made:
        """Make it."""
        return self.make(results)


def table(section: str) -> Callable[[Callable[[Any], Made]], Shown[Made]]:
    """Decorate a function that yields tables of a section of the report, of which ``tables/<name>`` has the first.

    Without any, these results have no such table. Without a section, the table is only exported.
    """
    return lambda make: Shown(make, section)


def figure(make: Callable[[Any], Made]) -> Shown[Made]:
    """Decorate a function that draws ``figures/<name>`` as PDF and SVG."""
    return Shown(make)


def frame(make: Callable[[Any], Made]) -> Shown[Made]:
    """Decorate a function that returns the numbers of ``figures/<name>.csv``, beside the figure of that name."""
    return Shown(make)


@cache
def functions(kind: str) -> dict[str, str]:
    """Return the functions of a decorator by name, as ``module:function``, in the order of files and lines."""
    modules = {f"{__package__}.{path.stem}": path for path in sorted(Path(__file__).parent.glob("*.py"))}
    modules |= {f"{each.package}.shown": each.folder / "shown.py" for each in extensions()}
    sources = {module: path.read_text(encoding="utf-8") for module, path in modules.items() if path.is_file()}
    found = ((*match.groups(), module) for module, source in sources.items() for match in DECORATED.finditer(source))
    return {name: f"{module}:{name}" for decorator, name, module in found if decorator == kind}


def registered(kind: str) -> dict[str, Shown[Any]]:
    """Return all of a decorator by name; this imports what they need."""
    return {name: by_name(function) for name, function in functions(kind).items()}
