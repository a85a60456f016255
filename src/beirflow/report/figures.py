"""Draw the figures of the report, each as PDF for papers and as SVG for pages. The same results give the same bytes."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from beirflow.config.main_measure import cutoff_of
from beirflow.evaluation.paired_tests import LEVEL, against
from beirflow.report import figure_style
from beirflow.report.figure_ranks import critical_difference
from beirflow.report.figure_tables import FRONTS, FigureFiles, Results, pareto_table, read_results
from beirflow.report.registry import FIGURES

COSTS = (
    ("documents_per_second", "documents indexed\na second"),
    ("seconds", "seconds,\nall stages"),
    ("peak_memory_bytes", "most memory\nof a job"),
    ("index_bytes", "index\non disk"),
)
"""Column of ``cost.csv``, and the label below the panel."""

PRINTED = (0.1, 0.25, 0.5, 0.75, 1.0)  # likewise, where its values are printed
THRESHOLDS = np.arange(1, 101) / 100  # at which the distribution over queries is drawn


def ndcg_difference(results: Results) -> Figure:
    """Draw by system the difference to the baseline on every dataset."""
    others = [system for system in results.systems if system != results.baseline]
    if not others:
        return figure_style.words_only(f"{results.baseline} is the only system: there is nothing to compare it with.")
    height = 0.165 * len(results.datasets) + 0.45
    figure, panels = figure_style.small_multiples(
        others, height, figure_style.HALF if len(others) <= 2 else figure_style.PANEL, sharex=True, sharey=True
    )
    for system, panel in zip(others, panels, strict=True):
        _differences(panel, results, system)
    figure_style.below(
        figure,
        f"{results.measure} minus that of {results.baseline}, with 95 % confidence interval; hatched where it is lower;"
        f" * different at the level of {LEVEL}, corrected for all comparisons with it",
    )
    return figure


def _differences(panel: Axes, results: Results, system: str) -> None:
    """Draw bars with intervals, datasets in their order; hatched if the baseline is better, a star beside what is significant."""
    table = against(results.comparison, results.measure, results.baseline)
    table = table[(table["system_a"] == system) | (table["system_b"] == system)]
    sign = np.where(table["system_a"] == system, 1, -1)
    table = table.assign(difference=sign * table["difference"], reach=(table["high"] - table["low"]) / 2)
    table = table.set_index("dataset").loc[results.datasets]
    places, better = np.arange(len(table)), table["difference"] >= 0
    for which, colour, hatch in ((better, figure_style.COLOURS[0], ""), (~better, figure_style.COLOURS[5], "//////")):
        panel.barh(places[which], table["difference"][which], 0.7, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
    panel.errorbar(table["difference"], places, xerr=table["reach"].fillna(0), fmt="none", ecolor="#333333", elinewidth=0.7)
    for place in np.flatnonzero(table["p_holm"] < LEVEL).tolist():
        panel.text(1, place, "*", transform=panel.get_yaxis_transform(), ha="right", va="center_baseline", fontweight="bold")
    figure_style.name_rows(panel, list(table.index))
    panel.axvline(0, color="#333333", linewidth=0.6)


def recall_over_k(results: Results) -> Figure:
    """Draw recall at every cutoff on every dataset; for many systems, print it."""
    styles = figure_style.style_of(results.systems)
    measures = results.means[results.systems[0], results.datasets[0]]
    cutoffs = sorted(int(name.partition("@")[2]) for name in measures if name.startswith("Recall@"))
    if len(results.systems) > figure_style.MOST_LINES:
        names = [str(k) for k in cutoffs]
        recall = {key: [measures[f"Recall@{k}"] for k in cutoffs] for key, measures in results.means.items()}
        return _printed(results, recall, names, "Recall@k over k; bold: the highest of a dataset at a k")
    figure, panels = figure_style.small_multiples(results.datasets, 1.3, sharex=True, sharey=True)
    for dataset, panel in zip(results.datasets, panels, strict=True):
        for system in results.systems:
            values = [results.means[system, dataset][f"Recall@{k}"] for k in cutoffs]
            panel.plot(cutoffs, values, **styles[system])
        panel.set_xscale("log")
        panel.set_xticks(cutoffs, [f"{k:,}" for k in cutoffs])
        panel.set_ylim(-0.03, 1.03)
    figure_style.below(figure, "k")
    figure.supylabel("Recall@k", fontsize=mpl.rcParams["font.size"])
    figure_style.system_legend(figure, styles, lines=True)
    return figure


def ndcg_per_query(results: Results) -> Figure:
    """Draw the share of queries that reach a value, over the value: higher is better; for many systems, print it."""
    if len(results.systems) > figure_style.MOST_LINES:
        shares = {key: [float(np.mean(found >= value)) for value in PRINTED] for key, found in results.per_query.items()}
        names = [f"{value:g}".removeprefix("0") for value in PRINTED]
        text = f"share of queries with at least this {results.measure}; bold: the highest of a dataset"
        return _printed(results, shares, names, text)
    styles = figure_style.style_of(results.systems)
    figure, panels = figure_style.small_multiples(results.datasets, 1.3, sharex=True, sharey=True)
    for dataset, panel in zip(results.datasets, panels, strict=True):
        for system in results.systems:
            values = np.sort(results.per_query[system, dataset])
            reached = 1 - np.searchsorted(values, THRESHOLDS) / len(values)
            # Markers of systems whose curves touch are offset.
            first = round(20 * (results.systems.index(system) + 0.5) / len(results.systems))
            panel.plot(THRESHOLDS, reached, **styles[system], markevery=(first, 20))
        panel.set_xlim(-0.02, 1.02)
        panel.set_ylim(-0.03, 1.03)
    figure_style.below(figure, f"with at least this {results.measure}")
    figure.supylabel("share of queries", fontsize=mpl.rcParams["font.size"])
    figure_style.system_legend(figure, styles, lines=True)
    return figure


def _printed(results: Results, values: Mapping[tuple[str, str], Sequence[float]], columns: Sequence[str], text: str) -> Figure:
    """Print values by system and dataset: a panel a dataset, a row a system."""
    figure, panels = figure_style.small_multiples(results.datasets, figure_style.CELL * len(results.systems) + 0.35, sharey=True)
    for dataset, panel in zip(results.datasets, panels, strict=True):
        figure_style.value_rows(
            panel, np.array([values[system, dataset] for system in results.systems]), columns, results.systems
        )
    figure_style.below(figure, text)
    return figure


def document_lengths(results: Results) -> Figure:
    """Draw by dataset a violin for all documents, for the relevant ones, and for the first hits of each system."""
    figure, panels = figure_style.violin_panels(results.lengths, results.systems, figure_style.WORDS, 0.17)
    for panel in panels:
        panel.axhline(1.5, color="#bbbbbb", linewidth=0.6)
    return figure


def holes(results: Results) -> Figure:
    """Draw the share of first hits that are judged for no query, and the score that it may lower; print both for many systems."""
    styles = figure_style.style_of(results.systems)
    height = figure_style.row_height(results.systems) * len(results.datasets) + 0.45
    printed = len(results.systems) > figure_style.MOST_LINES
    if printed:
        height = figure_style.CELL * len(results.datasets) + 1.2
    cutoff = cutoff_of(results.measure)
    names = [results.measure, f"Hole@{cutoff}"]
    figure, panels = figure_style.small_multiples(names if printed else ["", ""], height, figure_style.HALF, sharey=True)
    for name, panel in zip(names, panels, strict=True):
        if printed:
            table = np.array([[results.means[system, row][name] for system in results.systems] for row in results.datasets])
            figure_style.value_rows(panel, table, results.systems, results.datasets, mark_best=False)
            panel.tick_params(axis="x", rotation=90)
            continue
        values = {system: [results.means[system, row][name] for row in results.datasets] for system in results.systems}
        figure_style.dot_rows(panel, results.datasets, values, styles)
        panel.set_xlim(-0.02, 1.02)
        panel.set_xlabel(name)
    figure_style.below(figure, f"{names[1]}: share of the first {cutoff} that is judged for no query")
    if not printed:
        figure_style.system_legend(figure, styles, lines=False)
    return figure


def cost(results: Results) -> Figure:
    """Plot four kinds of cost: a panel a kind, a row a dataset, a marker a system."""
    styles = figure_style.style_of(results.systems)
    height = figure_style.row_height(results.systems) * len(results.datasets) + 0.6
    figure, panels = figure_style.small_multiples([""] * len(COSTS), height, sharey=True)
    table = results.costs.set_index(["system", "dataset"])
    for (column, label), panel in zip(COSTS, panels, strict=True):
        unit, size = figure_style.bytes_unit(table[column].max()) if column.endswith("_bytes") else ("", 1.0)
        values = {system: [table[column][system, row] / size for row in results.datasets] for system in results.systems}
        figure_style.dot_rows(panel, results.datasets, values, styles)
        known = table[column].dropna() / size
        panel.set_xlabel(f"{label}{unit}" if len(known) else f"{label}:\nnot known")
        figure_style.log_where_wide(panel, known)
    figure_style.system_legend(figure, styles, lines=False)
    return figure


def pareto(results: Results) -> Figure:
    """Plot the main measure against cost, one panel per kind of cost, with the Pareto front."""
    table, styles = pareto_table(results.means, results.costs, results.measure), figure_style.style_of(results.systems)
    figure, panels = figure_style.small_multiples(["", ""], 2.2, figure_style.HALF, sharey=True)
    unit, size = figure_style.bytes_unit(table["index_bytes"].max())
    scales = {"seconds_per_query": ("milliseconds a query", 1000.0), "index_bytes": (f"index on disk{unit}", 1 / size)}
    for (column, (label, factor)), panel in zip(scales.items(), panels, strict=True):
        known = table[table[column].notna()]
        costs = known[column] * factor
        front = known[known[FRONTS[column]]].sort_values([column, results.measure])
        panel.step(front[column] * factor, front[results.measure], where="post", color=figure_style.GREY, linewidth=0.8, zorder=1)
        for system, x, y in zip(known["system"], costs, known[results.measure], strict=True):
            panel.plot(
                [x], [y], **{**styles[system], "linestyle": ""}, markersize=5, markeredgecolor="white", markeredgewidth=0.3
            )
        missing = "" if len(known) == len(table) else f"\n({len(table) - len(known)} not known)" if len(known) else ":\nnot known"
        panel.set_xlabel(label + missing)
        figure_style.log_where_wide(panel, costs)
    panels[0].set_ylabel(f"mean {results.measure}")
    datasets = "1 dataset" if len(results.datasets) == 1 else f"{len(results.datasets)} datasets"
    figure_style.below(figure, f"mean over {datasets}; line: no other system is as good for as little")
    figure_style.system_legend(figure, styles, lines=False)
    return figure


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
    with figure_style.house_style(**(style or {})):
        for name in FIGURES:
            figure_style.save(FUNCTIONS[name](results), folder, name)
