"""Figure 2 of the BEIR paper: the word overlap of datasets, as a heat map and as a graph."""

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from beirflow.paper.facts import PaperFacts
from beirflow.paper.overlap import similarities
from beirflow.report.figure_style import COLOURS, MARKERS, below, full_width, single_width, words_only

CELL = 0.3
"""Inches of a cell of the heat map."""

MOST_CELLS = 10
"""Datasets up to which a cell has two decimals, and no more."""

DARK = 0.55
"""From which similarity on the number in a cell is white."""

LINED = 1 / 3
"""Share of the pairs that have a line: the most alike."""

SEED = 20211018
OWN = "of your own"

ALONE = "There are fewer than two datasets: there is no overlap to show."


def overlap_heatmap(overlap: pd.DataFrame) -> Figure:
    """Draw the similarity of every two datasets, in the order of a clustering, so that similar ones are neighbours."""
    names, matrix = similarities(overlap)
    if len(names) <= 1:
        return words_only(ALONE)
    order = clustered(matrix)
    names, matrix = [names[place] for place in order], matrix[np.ix_(order, order)]
    side = CELL * len(names) + 1.3
    width = full_width()
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
    below(figure, "weighted Jaccard similarity of the frequencies of words; like datasets beside one another")
    return figure


def clustered(matrix: np.ndarray) -> list[int]:
    """Order the n rows of similarities (n, n), unknown ones 0, by average linkage of 1 - similarity."""
    distance = 1 - np.nan_to_num(matrix)
    np.fill_diagonal(distance, 0)
    return leaves_list(linkage(squareform(distance, checks=False), "average", optimal_ordering=True)).tolist()


def overlap_graph(overlap: pd.DataFrame, facts: PaperFacts) -> Figure:
    """Draw datasets as points that attract one another by their similarity; shape and colour are the domain."""
    names, matrix = similarities(overlap)
    if len(names) <= 1:
        return words_only(ALONE)
    graph = nx.Graph()
    graph.add_nodes_from(names)
    for i, j in zip(*np.triu_indices(len(names), 1), strict=True):
        graph.add_edge(names[i], names[j], weight=float(np.nan_to_num(matrix[i, j])))
    places = nx.spring_layout(graph, weight="weight", seed=SEED, iterations=200)
    figure = Figure(figsize=(single_width(), single_width()), layout="constrained")
    panel = figure.subplots()
    edges = sorted(graph.edges(data="weight"), key=lambda edge: -edge[2])
    for one, other, weight in edges[: max(1, round(LINED * len(edges)))]:
        ends = np.array([places[one], places[other]]).T
        panel.plot(*ends, color="#cccccc", linewidth=3 * weight, zorder=1, solid_capstyle="round")
    domains = {name: str(facts.datasets.get(name, {}).get("domain", OWN)) for name in names}
    for number, domain in enumerate(dict.fromkeys(domains.values())):
        points = np.array([places[name] for name in names if domains[name] == domain])
        style: dict[str, Any] = {"marker": MARKERS[number % len(MARKERS)], "color": COLOURS[number % len(COLOURS)]}
        panel.plot(*points.T, **style, linestyle="", markersize=7, markeredgecolor="white", label=domain, zorder=2)
    for name in names:
        label = panel.annotate(name, places[name], xytext=(0, 6), textcoords="offset points", ha="center", fontsize=6.5, zorder=3)
        label.set_path_effects([withStroke(linewidth=2, foreground="white")])
    panel.set_axis_off()
    panel.margins(0.15, 0.1)
    figure.legend(loc="outside upper left", ncols=3, handlelength=1)
    below(figure, "near: many words in common; lines join the third of the pairs that have most")
    return figure
