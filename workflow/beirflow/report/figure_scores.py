"""Figures of scores: differences to the baseline, recall over k, the distribution over queries, holes."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from beirflow.evaluation.corrections import against
from beirflow.evaluation.main_measure import cutoff_of
from beirflow.report.figure_data import Results
from beirflow.report.figure_style import (
    COLOURS,
    HALF,
    SETTINGS,
    below,
    dot_rows,
    row_height,
    small_multiples,
    style_of,
    system_legend,
    words_only,
)

SIGNIFICANT = 0.05

THRESHOLDS = np.arange(1, 101) / 100
"""Values at which the distribution over queries is drawn."""


def ndcg_difference(results: Results) -> Figure:
    """Draw by system the difference to the baseline on every dataset, the best first."""
    others = [system for system in results.systems if system != results.baseline]
    if not others:
        return words_only(f"{results.baseline} is the only system: there is nothing to compare it with.")
    height = 0.165 * len(results.datasets) + 0.45
    figure, panels = small_multiples(others, height, HALF, sharex=True)
    for system, panel in zip(others, panels, strict=True):
        _differences(panel, results, system)
    below(
        figure,
        f"{results.measure} minus that of {results.baseline}, with 95 % confidence interval; hatched where it is lower;"
        f" * different at the level of {SIGNIFICANT}, corrected for all tests",
    )
    return figure


def _differences(panel: Axes, results: Results, system: str) -> None:
    """Draw bars with intervals; hatched if the baseline is better, a star if the difference is significant."""
    table = against(results.comparison, results.measure, results.baseline)
    table = table[(table["system_a"] == system) | (table["system_b"] == system)]
    sign = np.where(table["system_a"] == system, 1, -1)
    table = table.assign(difference=sign * table["difference"], reach=(table["high"] - table["low"]) / 2)
    table = table.sort_values("difference", ascending=False, kind="stable")
    places, better = np.arange(len(table)), table["difference"] >= 0
    for which, colour, hatch in ((better, COLOURS[0], ""), (~better, COLOURS[5], "//////")):
        panel.barh(places[which], table["difference"][which], 0.7, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
    panel.errorbar(table["difference"], places, xerr=table["reach"].fillna(0), fmt="none", ecolor="#333333", elinewidth=0.7)
    stars = ["* " if p < SIGNIFICANT else "" for p in table["p_holm"]]
    panel.set_yticks(places, [star + name for star, name in zip(stars, table["dataset"], strict=True)])
    panel.set_ylim(len(table) - 0.4, -0.6)
    panel.axvline(0, color="#333333", linewidth=0.6)
    panel.grid(visible=False, axis="y")


def recall_over_k(results: Results) -> Figure:
    """Draw recall at every cutoff on every dataset."""
    styles = style_of(results.systems)
    measures = results.means[results.systems[0], results.datasets[0]]
    cutoffs = sorted(int(name.partition("@")[2]) for name in measures if name.startswith("Recall@"))
    figure, panels = small_multiples(results.datasets, 1.3, sharex=True, sharey=True)
    for dataset, panel in zip(results.datasets, panels, strict=True):
        for system in results.systems:
            values = [results.means[system, dataset][f"Recall@{k}"] for k in cutoffs]
            panel.plot(cutoffs, values, **styles[system])
        panel.set_xscale("log")
        panel.set_xticks(cutoffs, [f"{k:,}" for k in cutoffs])
        panel.set_ylim(-0.03, 1.03)
    below(figure, "k")
    figure.supylabel("Recall@k", fontsize=SETTINGS["font.size"])
    system_legend(figure, styles, lines=True)
    return figure


def ndcg_per_query(results: Results) -> Figure:
    """Draw the share of queries that reach a value, over the value: a higher curve is better."""
    styles = style_of(results.systems)
    figure, panels = small_multiples(results.datasets, 1.3, sharex=True, sharey=True)
    for dataset, panel in zip(results.datasets, panels, strict=True):
        for system in results.systems:
            values = np.sort(results.per_query[system, dataset])
            reached = 1 - np.searchsorted(values, THRESHOLDS) / len(values)
            # Markers of systems whose curves touch are offset.
            first = round(20 * (results.systems.index(system) + 0.5) / len(results.systems))
            panel.plot(THRESHOLDS, reached, **styles[system], markevery=(first, 20))
        panel.set_xlim(-0.02, 1.02)
        panel.set_ylim(-0.03, 1.03)
    below(figure, f"with at least this {results.measure}")
    figure.supylabel("share of queries", fontsize=SETTINGS["font.size"])
    system_legend(figure, styles, lines=True)
    return figure


def holes(results: Results) -> Figure:
    """Draw the share of unjudged documents in the first ranks against the score that they may lower."""
    styles = style_of(results.systems)
    height = row_height(results.systems) * len(results.datasets) + 0.45
    cutoff = cutoff_of(results.measure)
    names = [results.measure, f"Hole@{cutoff}"]
    figure, panels = small_multiples(["", ""], height, HALF, sharey=True)
    for name, panel in zip(names, panels, strict=True):
        values = {system: [results.means[system, row][name] for row in results.datasets] for system in results.systems}
        dot_rows(panel, results.datasets, values, styles)
        panel.set_xlim(-0.02, 1.02)
        panel.set_xlabel(name)
    below(figure, f"{names[1]}: share of the first {cutoff} that nobody judged")
    system_legend(figure, styles, lines=False)
    return figure
