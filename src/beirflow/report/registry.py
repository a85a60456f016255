"""The figures and tables for reading, from ``workflow/report/registry.yaml``: names, titles, and what each shows or is made from.

Rules, pages and audits ask this module, which imports nothing large. A figure of the report is drawn by the function of its
name in :mod:`beirflow.report.figures`; its caption is ``workflow/report/<name>.rst``, which Snakemake reads for its own report
too.
"""

from collections.abc import Mapping
from typing import NamedTuple

from beirflow import WORKFLOW
from beirflow.core import layout
from beirflow.data.catalogue.schema import read_yaml

TEMPLATES = WORKFLOW / "report"

_REGISTRY = read_yaml(TEMPLATES / "registry.yaml")


class Figure(NamedTuple):
    """A figure on a page: its heading, text for readers who do not see it, and the name of the CSV of its numbers, if any."""

    title: str
    alt: str
    table: str = ""


class PaperTable(NamedTuple):
    """A table of the BEIR paper: the rule that makes it, the results behind it, and the measure of a table of scores."""

    rule: str
    sources: str
    measure: str = ""


def _filled(kind: str) -> dict[str, dict[str, str]]:
    """Return entries by name, with the paths of layout.py in place of their names."""
    entries = _REGISTRY[kind].items()
    return {name: {key: value.format_map(vars(layout)) for key, value in entry.items()} for name, entry in entries}


FIGURES: Mapping[str, Figure] = {name: Figure(**entry) for name, entry in _filled("figures").items()}
FIGURE_TABLES = tuple(figure.table for figure in FIGURES.values() if figure.table)
TABLES: tuple[str, ...] = tuple(_REGISTRY["tables"])
PAPER_FIGURES: Mapping[str, Figure] = {name: Figure(**entry) for name, entry in _filled("paper_figures").items()}
PAPER_TABLES: Mapping[str, PaperTable] = {name: PaperTable(**entry) for name, entry in _filled("paper_tables").items()}
CLAIMED_FROM: tuple[str, ...] = tuple(_REGISTRY["claimed_from"])
SCORE_TABLES = {name: table.measure for name, table in PAPER_TABLES.items() if table.measure}


def paper_tables(rule: str) -> list[str]:
    """Return the names of the tables of the BEIR paper that a rule makes."""
    return [name for name, table in PAPER_TABLES.items() if table.rule == rule]
