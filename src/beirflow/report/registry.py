"""Figures and tables of the report, from ``workflow/report/registry.yaml``: names, titles and descriptions.

Rules, pages and audits use this module, so it imports nothing large. The function of the same name in
:mod:`beirflow.report.figures` draws a figure; its caption is ``workflow/report/<name>.rst``, also for Snakemake's own report.
"""

from collections.abc import Mapping
from typing import NamedTuple

from beirflow import WORKFLOW
from beirflow.core import layout
from beirflow.data.catalogue.schema import read_yaml

TEMPLATES = WORKFLOW / "report"

_REGISTRY = read_yaml(TEMPLATES / "registry.yaml")


class Figure(NamedTuple):
    """A figure on a page: heading, alternative text, and the name of the CSV of its numbers, if any."""

    title: str
    alt: str
    table: str = ""


FIGURES: Mapping[str, Figure] = {
    name: Figure(**{key: value.format_map(vars(layout)) for key, value in entry.items()})
    for name, entry in _REGISTRY["figures"].items()
}
FIGURE_TABLES = tuple(figure.table for figure in FIGURES.values() if figure.table)
TABLES: tuple[str, ...] = tuple(_REGISTRY["tables"])
