"""Figures of document lengths: of all documents, of the relevant ones, and of the hits of each system."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from beirflow.report.figure_data import Results
from beirflow.report.figure_style import GREY, below, plain, small_multiples, style_of

WHAT = "words of all documents, of the relevant ones, and of the first 10 hits of each system; white: median and middle half"

HALF = 0.42
"""Most that a violin reaches up and down; rows are 1 apart."""


def document_lengths(results: Results) -> Figure:
    """By dataset, a violin for all documents, for the relevant ones, and for the first hits of each system."""
    styles = style_of(results.systems)
    names = ["all documents", "relevant", *results.systems]
    height = 0.17 * len(names) + 0.5
    figure, panels = small_multiples(results.datasets, height, sharex=True, sharey=True)
    for dataset, panel in zip(results.datasets, panels, strict=True):
        for place, (name, (edges, counts)) in enumerate(results.lengths[dataset].items()):
            violin(panel, place, np.array(edges), np.array(counts), styles[name]["color"] if name in styles else GREY)
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter(plain)
        panel.set_yticks(range(len(names)), names)
        panel.set_ylim(len(names) - 0.4, -0.6)
        panel.grid(visible=False, axis="y")
        panel.axhline(1.5, color="#bbbbbb", linewidth=0.6)
    below(figure, WHAT)
    return figure


def violin(panel: Axes, place: int, edges: np.ndarray, counts: np.ndarray, colour: str) -> None:
    """Draw the density over the logarithm of the length in row ``place``, with quartiles; nothing without counts.

    ``edges`` are the bounds of n bins in words, int64 of shape (n + 1,), ``counts`` theirs, int64 of shape (n,).
    """
    if not counts.sum():
        return
    bounds = np.maximum(edges[: len(counts) + 1].astype(np.float64), 0.5)
    density = counts / np.log(bounds[1:] / bounds[:-1])
    width = HALF * density / density.max()
    used = np.flatnonzero(counts)
    part = slice(used[0], used[-1] + 1)
    middle = np.sqrt(bounds[1:] * bounds[:-1])[part]
    outline = np.concatenate([[bounds[part][0]], middle, [bounds[part.stop]]])
    width = np.concatenate([[0], width[part], [0]])
    panel.fill_between(outline, place - width, place + width, color=colour, linewidth=0.4, alpha=0.85)
    low, median, high = np.interp(
        np.array([0.25, 0.5, 0.75]) * counts.sum(), np.concatenate([[0], np.cumsum(counts)]), np.log(bounds)
    )
    panel.plot(np.exp([low, high]), [place, place], color="white", linewidth=1.6, solid_capstyle="butt")
    panel.plot([np.exp(median)], [place], marker="o", color="white", markeredgecolor="black", markeredgewidth=0.5, markersize=3.2)
