"""The figures and tables of the paper's page, from ``report/registry.yaml``: what each shows or is made from."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from beirflow.core import layout as of_the_core
from beirflow.data.catalogue.schema import read_yaml
from beirflow.extensions.paper import layout
from beirflow.report.registry import Figure

_REGISTRY = read_yaml(Path(__file__).parent / "report/registry.yaml")
_PATHS = vars(of_the_core) | vars(layout)


class PaperTable(NamedTuple):
    """A table of the BEIR paper: the rule that makes it, the results behind it, and the measure of a table of scores."""

    rule: str
    sources: str
    measure: str = ""


FIGURES: Mapping[str, Figure] = {name: Figure(**entry) for name, entry in _REGISTRY["figures"].items()}
TABLES: Mapping[str, PaperTable] = {
    name: PaperTable(**{key: value.format_map(_PATHS) for key, value in entry.items()})
    for name, entry in _REGISTRY["tables"].items()
}
CLAIMED_FROM: tuple[str, ...] = tuple(_REGISTRY["claimed_from"])
SCORE_TABLES = {name: table.measure for name, table in TABLES.items() if table.measure}


def tables_of(rule: str) -> list[str]:
    """Return the names of the tables that a rule makes."""
    return [name for name, table in TABLES.items() if table.rule == rule]
