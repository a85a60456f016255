"""Draw the figures, each as PDF for papers and as SVG for pages.

``ndcg_difference``, ``critical_difference``, ``recall_over_k``, ``ndcg_per_query``, ``document_lengths``, ``holes``, ``pareto``
and ``cost``; the functions of these names say what they show. The same results give the same bytes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from beirflow.report.figure_cost import cost
from beirflow.report.figure_data import read_results
from beirflow.report.figure_lengths import document_lengths
from beirflow.report.figure_pareto import pareto
from beirflow.report.figure_ranks import critical_difference
from beirflow.report.figure_scores import holes, ndcg_difference, ndcg_per_query, recall_over_k
from beirflow.report.figure_style import house_style, save
from beirflow.report.figure_tables import write_figure_tables

FIGURES = (ndcg_difference, critical_difference, recall_over_k, ndcg_per_query, document_lengths, holes, pareto, cost)


def draw_figures(
    *,
    folder: str,
    means_paths: Sequence[str],
    corpus_means_paths: Sequence[str],
    per_query_paths: Sequence[str],
    inspection_paths: Sequence[str],
    comparison_path: str,
    costs_path: str,
    rows: Mapping[str, Sequence[str]],
    baseline: str,
    style: Mapping[str, Any] | None = None,
) -> None:
    """Draw all figures.

    Args:
        folder: Where to write them, each as ``<name>.pdf`` and ``<name>.svg``, some with their numbers as ``<name>.csv``.
        means_paths: The ``metrics`` JSON of every system on every dataset.
        corpus_means_paths: The same on every corpus.
        per_query_paths: The values of every query on every corpus, in the same order.
        inspection_paths: What ``inspect_dataset`` wrote of every corpus.
        comparison_path: ``significance.csv``.
        costs_path: ``cost.csv``.
        rows: By dataset the names of its corpora.
        baseline: System that the others are compared with.
        style: What :func:`~beirflow.report.figure_style.house_style` takes.

    Raises:
        DataError: Values are not those that were recorded, or the font is not here.
    """
    results = read_results(
        means_paths=means_paths,
        corpus_means_paths=corpus_means_paths,
        per_query_paths=per_query_paths,
        inspection_paths=inspection_paths,
        comparison_path=comparison_path,
        costs_path=costs_path,
        rows=rows,
        baseline=baseline,
    )
    write_figure_tables(means_paths=means_paths, costs_path=costs_path, folder=folder)
    with house_style(**(style or {})):
        for draw in FIGURES:
            save(draw(results), folder, draw.__name__)
