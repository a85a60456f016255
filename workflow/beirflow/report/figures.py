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
from beirflow.report.registry import FIGURES

FUNCTIONS = {
    function.__name__: function
    for function in (ndcg_difference, critical_difference, recall_over_k, ndcg_per_query, document_lengths, holes, pareto, cost)
}
"""By name of a figure, the function that draws it."""


def draw_figures(*, files: FigureFiles, folder: str, style: Mapping[str, Any] | None = None) -> None:
    """Draw all figures.

    Args:
        files: The files that they show.
        folder: Where to write them, each as ``<name>.pdf`` and ``<name>.svg``.
        style: Arguments of :func:`~beirflow.report.figure_style.house_style`.

    Raises:
        DataError: Values are not those that were recorded, or the font is not here.
    """
    results = read_results(files)
    with house_style(**(style or {})):
        for name in FIGURES:
            save(FUNCTIONS[name](results), folder, name)
