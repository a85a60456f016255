"""Critical difference diagram: average ranks over datasets, with groups that do not differ (Demšar 2006)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from beirflow.evaluation.paired_tests import LEVEL
from beirflow.evaluation.ranks import FEWEST_DATASETS, FEWEST_SYSTEMS, Friedman, alike
from beirflow.report import figure_tables
from beirflow.report.figure_style import below, full_width, words_only
from beirflow.report.registry import figure
from beirflow.report.results import Results

ROW, BAR = 0.17, 0.07  # inches from name to name, and from bar to bar
ABOVE = 0.3  # inches from the axis to the critical difference above it
BELOW = 0.6  # inches below the last name, for the results of the tests
LETTER, LEAST = 0.067, 3.0  # inches of a letter of a name, and the least of the axis between the names
EDGE = 0.03  # share of the axis by which the lines to the names exceed it

MOST_TICKS = 12

NO_BREAK = "\N{NO-BREAK SPACE}"


@figure
def critical_difference(results: Results) -> Figure:
    """Draw systems by average rank, the best at the left; bars join systems that do not differ significantly."""
    table = figure_tables.critical_difference(results)
    first = table.iloc[0]
    if np.isnan(first["p"]):
        if len(table) >= FEWEST_SYSTEMS and len(results.blocks) >= FEWEST_DATASETS:
            return words_only("All systems are equal on every dataset: there are no ranks to test.")
        least = f"{FEWEST_SYSTEMS} systems and {FEWEST_DATASETS} datasets of different corpora on which none was trained"
        return words_only(f"Ranks are tested with at least {least}; here are {len(table)} and {len(results.blocks)}.")
    test = Friedman(first["f"], first["p"], first["critical_difference"])
    ranks = table["average_rank"].tolist()
    spans = alike(ranks, test)
    rows = -(-len(ranks) // 2)
    depth = BAR * (len(spans) + 1) + ROW * (rows + 0.5)
    margin = LETTER * max(len(f"{system} {rank:.2f}  ") for system, rank in zip(table["system"], ranks, strict=True))
    width, height = max(full_width(), min(LEAST, full_width() / 2) + 2 * margin), ABOVE + 0.25 + depth + BELOW
    drawing = Figure(figsize=(width, height))
    panel = drawing.add_axes((margin / width, BELOW / height, 1 - 2 * margin / width, 1 - BELOW / height))
    panel.set_axis_off()
    last = max(float(len(ranks)), 1 + test.critical_difference)
    ends = 1 - EDGE * (last - 1), last + EDGE * (last - 1)
    panel.set_xlim(*ends)
    panel.set_ylim(-depth, ABOVE + 0.25)
    _axis(panel, len(ranks), test.critical_difference)
    for number, (start, end) in enumerate(spans, 1):
        panel.plot([ranks[start], ranks[end]], [-BAR * number] * 2, color="black", linewidth=2.4, solid_capstyle="round")
    _names(panel, table["system"].tolist(), ranks, -BAR * (len(spans) + 1), ends)
    below(drawing, _in_words(test, len(results.blocks), results.main_measure))
    return drawing


def _in_words(test: Friedman, datasets: int, measure: str) -> str:
    """Return the result of the tests in words; lines do not break inside a value."""
    p = f"p = {test.p:.3f}" if test.p >= 0.001 else "p < 0.001"
    statistic = "F is infinite" if np.isinf(test.f) else f"F = {test.f:.2f}"
    values = f"{statistic}, {p}".replace(" ", NO_BREAK).replace(f",{NO_BREAK}", ", ")
    result = f"Average rank by {measure} over {datasets} datasets. Friedman test, by Iman and Davenport: {values}"
    if not test.rejected:
        return f"{result}, which is not below {LEVEL}: no two systems differ significantly."
    return f"{result}. A bar joins systems that differ by less than the critical difference (Nemenyi, {LEVEL})."


def _axis(panel: Axes, systems: int, reach: float) -> None:
    """Draw the ranks, and above them the critical difference."""
    panel.plot([1, systems], [0, 0], color="black", linewidth=0.8)
    for rank in range(1, systems + 1, -(-systems // MOST_TICKS)):
        panel.plot([rank, rank], [0, 0.04], color="black", linewidth=0.8)
        panel.text(rank, 0.06, str(rank), ha="center", va="bottom")
    panel.plot([1, 1 + reach], [ABOVE] * 2, color="black", linewidth=0.8, marker="|", markersize=5)
    panel.text(1 + reach / 2, ABOVE + 0.05, f"critical difference {reach:.2f}", ha="center", va="bottom")


def _names(panel: Axes, systems: Sequence[str], ranks: Sequence[float], top: float, ends: tuple[float, float]) -> None:
    """Write the better half at the left, the others at the right, the outermost first, so that no lines cross."""
    half = -(-len(systems) // 2)
    for place, (system, rank) in enumerate(zip(systems, ranks, strict=True)):
        left = place < half
        height = top - ROW * (0.5 + (place if left else len(systems) - 1 - place))
        end = ends[0] if left else ends[1]
        panel.plot([rank, rank, end], [0, height, height], color="#333333", linewidth=0.6)
        text, side, aside = (f"{system} {rank:.2f}", "right", -4) if left else (f"{rank:.2f} {system}", "left", 4)
        panel.annotate(text, (end, height), (aside, 0), textcoords="offset points", ha=side, va="center")
