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


FIGURES: Mapping[str, Figure] = {
    name: Figure(**{key: value.format_map(vars(layout)) for key, value in entry.items()})
    for name, entry in _REGISTRY["figures"].items()
}
FIGURE_TABLES = tuple(figure.table for figure in FIGURES.values() if figure.table)
TABLES: tuple[str, ...] = tuple(_REGISTRY["tables"])
