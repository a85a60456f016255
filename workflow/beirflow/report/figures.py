"""Draw the figures of the report, each as PDF for papers and as SVG for pages. The same results give the same bytes."""

from collections.abc import Mapping
from typing import Any

from beirflow.report.figure_cost import cost
from beirflow.report.figure_data import FigureFiles, read_results
from beirflow.report.figure_lengths import document_lengths
from beirflow.report.figure_pareto import pareto
from beirflow.report.figure_ranks import critical_difference
from beirflow.report.figure_scores import holes, ndcg_difference, ndcg_per_query, recall_over_k
from beirflow.report.figure_style import house_style, save
from beirflow.report.figure_tables import write_figure_tables
from beirflow.report.registry import FIGURES

FUNCTIONS = {
    function.__name__: function
    for function in (ndcg_difference, critical_difference, recall_over_k, ndcg_per_query, document_lengths, holes, pareto, cost)
}
"""By name of a figure, the function that draws it."""


def draw_figures(*, files: FigureFiles, folder: str, style: Mapping[str, Any] | None = None) -> None:
    """Draw all figures as ``<name>.pdf`` and ``<name>.svg``, some with their numbers as ``<name>.csv``.

    ``style`` has arguments of :func:`~beirflow.report.figure_style.house_style`. Raise DataError if values are not those that
    were recorded, or the font is missing.
    """
    results = read_results(files)
    write_figure_tables(
        means_paths=files.means_paths, costs_path=files.costs_path, folder=folder, main_measure=files.main_measure
    )
    with house_style(**(style or {})):
        for name in FIGURES:
            save(FUNCTIONS[name](results), folder, name)
