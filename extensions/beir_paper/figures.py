"""Draw the figures of the BEIR paper from the tables in the same folder, as PDF and SVG; the same tables give the same bytes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from beirflow.core.csv_files import read_named_csv
from beirflow.extensions.beir_paper.corpus_tables import histograms_of
from beirflow.extensions.beir_paper.printed_values import Paper, load_paper
from beirflow.extensions.beir_paper.registry import FIGURES
from beirflow.report import figure_style

NOT_SYSTEMS = ("all documents", "relevant")

CELL = 0.3  # inches of a cell of the heat map
MOST_CELLS = 10  # datasets up to which a cell has room for two decimals
DARK = 0.55  # similarity from which on the number in a cell is white
LINED = 1 / 3  # share of the pairs that have a line: the most alike

SEED = 20211018
OWN = "of your own"

ALONE = "There are fewer than two datasets: there is no overlap to show."


def draw_figures(*, folder: str, pairs: Sequence[Sequence[str]] = (), style: Mapping[str, Any] | None = None) -> None:
    """Draw all figures, in the folder of their tables.

    ``pairs`` are systems that compare the same vectors by two similarities; ``style`` has the arguments of
    :func:`~beirflow.report.figure_style.house_style`.
    """
    draw: dict[str, Callable[[pd.DataFrame], Figure]] = {
        "overlap-heatmap": overlap_heatmap,
        "overlap-graph": partial(overlap_graph, paper=load_paper()),
        "lengths-retrieved": partial(length_figure, what=figure_style.WORDS),
        "lengths-similarities": partial(similarities_figure, systems=[system for pair in pairs for system in pair]),
        "lengths-judged": partial(length_figure, what="words of the judged documents, by grade"),
    }
    with figure_style.house_style(**(style or {})):
        for name, figure in FIGURES.items():
            figure_style.save(draw[name](read_named_csv(str(Path(folder, f"{figure.table}.csv")))), folder, name)


def length_figure(table: pd.DataFrame, what: str) -> Figure:
    """Draw the lengths of documents of every dataset, one violin for each kind."""
    histograms = histograms_of(table)
    if not histograms:
        return figure_style.words_only("There is nothing to show: no dataset has several grades.")
    names = dict.fromkeys(name for kinds in histograms.values() for name in kinds)
    systems = [name for name in names if name not in NOT_SYSTEMS and not name.startswith("grade ")]
    return figure_style.violin_panels(histograms, systems, what, 0.19)[0]


def similarities_figure(table: pd.DataFrame, systems: Sequence[str]) -> Figure:
    """Draw the lengths of the documents that some systems retrieve, of all documents and of the relevant ones."""
    if not systems:
        return figure_style.words_only(
            "There is no configured pair of systems that compares the same vectors by the cosine and by the dot product."
        )
    return length_figure(table[table["of"].isin((*NOT_SYSTEMS, *systems))], figure_style.WORDS)


def similarities(overlap: pd.DataFrame) -> tuple[list[str], np.ndarray]:
    """Return the n names in ``overlap.csv`` in order, and a matrix, float64 of shape (n, n) with ones in the diagonal."""
    names = list(dict.fromkeys([*overlap["dataset_a"], *overlap["dataset_b"]]))
    matrix = np.eye(len(names))
    for a, b, value in overlap.itertuples(index=False):
        matrix[names.index(a), names.index(b)] = matrix[names.index(b), names.index(a)] = value
    return names, matrix


def overlap_heatmap(overlap: pd.DataFrame) -> Figure:
    """Draw the similarity of every two datasets, in the order of a clustering, so that similar ones are neighbours."""
    names, matrix = similarities(overlap)
    if len(names) <= 1:
        return figure_style.words_only(ALONE)
    order = clustered(matrix)
    names, matrix = [names[place] for place in order], matrix[np.ix_(order, order)]
    side = CELL * len(names) + 1.3
    width = figure_style.full_width()
    figure = Figure(figsize=(min(width, max(side, width * 0.5)), min(width, side) + 0.5), layout="constrained")
    panel = figure.subplots()
    panel.imshow(matrix, cmap="Greys", vmin=0, vmax=1, aspect="auto")
    digits = 2 if len(names) <= MOST_CELLS else 1
    for row, column in np.ndindex(matrix.shape):
        if row != column and not np.isnan(value := matrix[row, column]):
            text = f"{value:.{digits}f}".removeprefix("0")
            panel.text(column, row, text, ha="center", va="center", color="white" if value > DARK else "black", fontsize=6)
    panel.set_xticks(range(len(names)), names, rotation=90)
    panel.set_yticks(range(len(names)), names)
    panel.grid(visible=False)
    figure_style.below(figure, "weighted Jaccard similarity of the frequencies of words; like datasets beside one another")
    return figure


def clustered(matrix: np.ndarray) -> list[int]:
    """Order the n rows of similarities (n, n), unknown ones 0, by average linkage of 1 - similarity."""
    distance = 1 - np.nan_to_num(matrix)
    np.fill_diagonal(distance, 0)
    return leaves_list(linkage(squareform(distance, checks=False), "average", optimal_ordering=True)).tolist()


def overlap_graph(overlap: pd.DataFrame, paper: Paper) -> Figure:
    """Draw datasets as points that attract one another by their similarity; shape and colour are the domain."""
    names, matrix = similarities(overlap)
    if len(names) <= 1:
        return figure_style.words_only(ALONE)
    graph = nx.Graph()
    graph.add_nodes_from(names)
    for i, j in zip(*np.triu_indices(len(names), 1), strict=True):
        graph.add_edge(names[i], names[j], weight=float(np.nan_to_num(matrix[i, j])))
    places = nx.spring_layout(graph, weight="weight", seed=SEED, iterations=200)
    figure = Figure(figsize=(figure_style.single_width(), figure_style.single_width()), layout="constrained")
    panel = figure.subplots()
    edges = sorted(graph.edges(data="weight"), key=lambda edge: -edge[2])
    for one, other, weight in edges[: max(1, round(LINED * len(edges)))]:
        ends = np.array([places[one], places[other]]).T
        panel.plot(*ends, color="#cccccc", linewidth=3 * weight, zorder=1, solid_capstyle="round")
    domains = {name: str(paper.datasets.get(name, {}).get("domain", OWN)) for name in names}
    for number, domain in enumerate(dict.fromkeys(domains.values())):
        points = np.array([places[name] for name in names if domains[name] == domain])
        style: dict[str, Any] = {
            "marker": figure_style.MARKERS[number % len(figure_style.MARKERS)],
            "color": figure_style.COLOURS[number % len(figure_style.COLOURS)],
        }
        panel.plot(*points.T, **style, linestyle="", markersize=7, markeredgecolor="white", label=domain, zorder=2)
    for name in names:
        label = panel.annotate(name, places[name], xytext=(0, 6), textcoords="offset points", ha="center", fontsize=6.5, zorder=3)
        label.set_path_effects([withStroke(linewidth=2, foreground="white")])
    panel.set_axis_off()
    panel.margins(0.15, 0.1)
    figure.legend(loc="outside upper left", ncols=3, handlelength=1)
    figure_style.below(figure, "near: many words in common; lines join the third of the pairs that have most")
    return figure
