"""Draw the figures of the BEIR paper from the tables beside them, as PDF and SVG; the same tables give the same bytes."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from beirflow.files.csv_files import read_named_csv
from beirflow.paper.corpus_tables import histograms_of
from beirflow.paper.facts import load_facts
from beirflow.paper.figure_overlap import overlap_graph, overlap_heatmap
from beirflow.report.figure_lengths import violin
from beirflow.report.figure_style import (
    COLOURS,
    GREY,
    below,
    house_style,
    plain,
    save,
    single_width,
    small_multiples,
    style_of,
    words_only,
)
from beirflow.report.registry import PAPER_FIGURES

NOT_SYSTEMS = ("all documents", "relevant")


def draw_figures(*, folder: str, style: Mapping[str, Any] | None = None) -> None:
    """Draw all figures beside their tables; ``style`` has the arguments of :func:`~beirflow.report.figure_style.house_style`."""
    draw: dict[str, Callable[[pd.DataFrame], Figure]] = {
        "overlap-heatmap": overlap_heatmap,
        "overlap-graph": partial(overlap_graph, facts=load_facts()),
        "against-baseline": against_baseline_figure,
        "lengths-retrieved": partial(
            length_figure, what="words of all documents, of the relevant ones, and of the first 10 hits of each system"
        ),
        "lengths-judged": partial(length_figure, what="words of the judged documents, by grade"),
    }
    with house_style(**(style or {})):
        for name, figure in PAPER_FIGURES.items():
            save(draw[name](read_named_csv(str(Path(folder, f"{figure.table}.csv")))), folder, name)


def against_baseline_figure(table: pd.DataFrame) -> Figure:
    """Draw the counts of each system: datasets on which it is better to the right, on which it is worse to the left."""
    groups = [(source, part) for source, part in table.groupby("source", sort=False)]
    if not groups:
        return words_only("There is no system to compare with the baseline.")
    heights = [len(part) + 1 for _, part in groups]
    figure = Figure(figsize=(single_width(), 0.19 * sum(heights) + 0.9), layout="constrained")
    panels = figure.subplots(len(groups), 1, squeeze=False, height_ratios=heights, sharex=True)[:, 0]
    for (source, part), panel in zip(groups, panels, strict=True):
        places, sure = np.arange(len(part)), part[["surely_better", "surely_worse"]].fillna(0).astype(int)
        for side, colour, hatch, sign in (("better", COLOURS[0], "", 1), ("worse", COLOURS[5], "//////", -1)):
            panel.barh(places, sign * part[side], 0.7, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
            panel.barh(places, sign * sure[f"surely_{side}"], 0.25, color="black", linewidth=0)
            for place, count in zip(places, part[side], strict=True):
                label = {"ha": "left" if sign > 0 else "right", "va": "center", "fontsize": 6.5}
                panel.annotate(f"{count}", (sign * count, place), xytext=(2 * sign, 0), textcoords="offset points", **label)
        panel.set_yticks(places, part["system"])
        panel.set_ylim(len(part) - 0.4, -0.6)
        panel.axvline(0, color="#333333", linewidth=0.6)
        panel.grid(visible=False, axis="y")
        panel.set_title(f"{part['baseline'].iloc[0]} is the baseline, {'as printed' if source == 'printed' else 'here'}")
        panel.margins(x=0.12)
        panel.xaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
    below(figure, "datasets on which a system is better (right) or worse (left, hatched); black: surely so, p < 0.05 after Holm")
    return figure


def length_figure(table: pd.DataFrame, what: str) -> Figure:
    """Draw the lengths of documents of every dataset, one violin for each kind."""
    histograms = histograms_of(table)
    if not histograms:
        return words_only("There is nothing to show: no dataset has several grades.")
    names = list(dict.fromkeys(name for kinds in histograms.values() for name in kinds))
    styles = style_of([name for name in names if name not in NOT_SYSTEMS and not name.startswith("grade ")])
    columns = 2 if len(histograms) > 1 else 1
    figure, panels = small_multiples(list(histograms), 0.19 * len(names) + 0.5, columns, sharex=True, sharey=True)
    for kinds, panel in zip(histograms.values(), panels, strict=True):
        for name, (edges, counts) in kinds.items():
            violin(panel, names.index(name), np.array(edges), np.array(counts), styles[name]["color"] if name in styles else GREY)
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter(plain)
        panel.set_yticks(range(len(names)), names)
        panel.set_ylim(len(names) - 0.4, -0.6)
        panel.grid(visible=False, axis="y")
    below(figure, f"{what}; white: median and middle half")
    return figure
