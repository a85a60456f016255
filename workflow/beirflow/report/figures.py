"""Draw the figures, each as PDF for papers and as SVG for pages.

``ndcg_difference``, ``recall_over_k``, ``ndcg_per_query``, ``document_lengths``, ``holes`` and ``cost``; the functions of these
names say what they show. The same results give the same bytes.
"""

from typing import Any

from beirflow.report.figure_cost import cost
from beirflow.report.figure_data import read_results
from beirflow.report.figure_lengths import document_lengths
from beirflow.report.figure_scores import holes, ndcg_difference, ndcg_per_query, recall_over_k
from beirflow.report.figure_style import house_style, save

FIGURES = (ndcg_difference, recall_over_k, ndcg_per_query, document_lengths, holes, cost)


def draw_figures(*, folder: str, **sources: Any) -> None:
    """Draw all figures.

    Args:
        folder: Where to write them, each as ``<name>.pdf`` and ``<name>.svg``.
        **sources: What :func:`~beirflow.report.figure_data.read_results` takes.

    Raises:
        DataError: Values are not those that were recorded.
    """
    results = read_results(**sources)
    with house_style():
        for draw in FIGURES:
            save(draw(results), folder, draw.__name__)
