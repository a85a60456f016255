"""Draw the figures of the report as PDF and SVG. The same results give the same bytes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from beirflow.config.main_measure import cutoff_of
from beirflow.evaluation.paired_tests import LEVEL, against
from beirflow.report import figure_tables
from beirflow.report.figure_style import (
    CELL,
    COLOURS,
    GREY,
    HALF,
    MOST_LINES,
    PANEL,
    WORDS,
    below,
    bytes_unit,
    dot_rows,
    house_style,
    log_where_wide,
    name_points,
    name_rows,
    row_height,
    save,
    small_multiples,
    style_of,
    system_legend,
    value_rows,
    violin_panels,
    words_only,
)
from beirflow.report.registry import figure, registered
from beirflow.report.results import Results

COSTS = (
    ("documents_per_second", "documents indexed\nper second"),
    ("seconds", "total time (s)"),
    ("peak_memory_bytes", "peak memory\nper job"),
    ("index_bytes", "index size\non disk"),
)
"""Columns of ``cost.csv`` with the labels of their panels."""

Values = Mapping[tuple[str, str], Any]  # by system and dataset, numbers of a row or a curve

PRINTED = (0.1, 0.25, 0.5, 0.75, 1.0)  # thresholds of the printed distribution over queries
THRESHOLDS = np.arange(1, 101) / 100  # thresholds of the drawn one


@figure
def ndcg_difference(results: Results) -> Figure:
    """Draw by system the difference to the baseline on every dataset, the highest mean first."""
    means = {
        system: float(np.mean([results.measures[system, row][results.main_measure] for row in results.rows]))
        for system in results.system_names
    }
    others = sorted(means.keys() - {results.baseline}, key=lambda system: (-means[system], system))
    if not others:
        return words_only(f"{results.baseline} is the only system: there is nothing to compare it with.")
    height = 0.165 * len(results.rows) + 0.45
    drawing, panels = small_multiples(others, height, HALF if len(others) <= 2 else PANEL, sharex=True, sharey=True)
    for system, panel in zip(others, panels, strict=True):
        _differences(panel, results, system)
    below(
        drawing,
        f"{results.main_measure} minus that of {results.baseline}, with 95 % interval; hatched: lower;"
        f" * significant at {LEVEL}, corrected for all comparisons with it",
    )
    return drawing


def _differences(panel: Axes, results: Results, system: str) -> None:
    """Draw bars with intervals, hatched if the baseline is better, with a star if significant."""
    table = against(results.significance, results.main_measure, results.baseline)
    table = table[(table["system_a"] == system) | (table["system_b"] == system)]
    sign = np.where(table["system_a"] == system, 1, -1)
    table = table.assign(difference=sign * table["difference"], reach=(table["high"] - table["low"]) / 2)
    table = table.set_index("dataset").loc[list(results.rows)]
    places, better = np.arange(len(table)), table["difference"] >= 0
    for which, colour, hatch in ((better, COLOURS[0], ""), (~better, COLOURS[5], "//////")):
        panel.barh(places[which], table["difference"][which], 0.7, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
    panel.errorbar(table["difference"], places, xerr=table["reach"].fillna(0), fmt="none", ecolor="#333333", elinewidth=0.7)
    for place in np.flatnonzero(table["p_holm"] < LEVEL).tolist():
        panel.text(1, place, "*", transform=panel.get_yaxis_transform(), ha="right", va="center_baseline", fontweight="bold")
    name_rows(panel, list(table.index))
    panel.axvline(0, color="#333333", linewidth=0.6)


@figure
def recall_over_k(results: Results) -> Figure:
    """Draw recall at every cutoff on every dataset; for many systems, print it."""
    measures = results.measures[results.system_names[0], next(iter(results.rows))]
    cutoffs = sorted(int(name.partition("@")[2]) for name in measures if name.startswith("Recall@"))
    recall = {key: [measures[f"Recall@{k}"] for k in cutoffs] for key, measures in results.measures.items()}
    if len(results.system_names) > MOST_LINES:
        text = "Recall@k over k; bold: the highest of a dataset at a k"
        return _printed(results, recall, [str(k) for k in cutoffs], text)
    drawing, panels = _curves(results, cutoffs, recall, "k", "Recall@k")
    for panel in panels:
        panel.set_xscale("log")
        panel.set_xticks(cutoffs, [f"{k:,}" for k in cutoffs])
    return drawing


@figure
def ndcg_per_query(results: Results) -> Figure:
    """Draw the share of queries that reach a value, over the value; for many systems, print it."""
    printed = len(results.system_names) > MOST_LINES
    at = PRINTED if printed else THRESHOLDS
    shares = {key: 1 - np.searchsorted(np.sort(found), at) / len(found) for key, found in results.per_query.items()}
    text = f"with at least this {results.main_measure}"
    if printed:
        names = [f"{value:g}".removeprefix("0") for value in PRINTED]
        return _printed(results, shares, names, f"share of queries {text}; bold: the highest of a dataset")
    drawing, panels = _curves(results, THRESHOLDS, shares, text, "share of queries", markers=20)
    for panel in panels:
        panel.set_xlim(-0.02, 1.02)
    return drawing


def _curves(results: Results, x: Any, y: Values, below_all: str, beside: str, markers: int = 1) -> tuple[Figure, list[Axes]]:
    """Draw a curve per system in a panel per dataset, with a marker every ``markers`` points."""
    styles = style_of(results.system_names)
    drawing, panels = small_multiples(list(results.rows), 1.3, sharex=True, sharey=True)
    for dataset, panel in zip(results.rows, panels, strict=True):
        for number, system in enumerate(results.system_names):
            # Offset markers, so that overlapping curves remain distinguishable.
            first = round(markers * (number + 0.5) / len(results.system_names)) if markers > 1 else 0
            panel.plot(x, y[system, dataset], **styles[system], markevery=(first, markers))
        panel.set_ylim(-0.03, 1.03)
    below(drawing, below_all)
    drawing.supylabel(beside)
    system_legend(drawing, styles, lines=True)
    return drawing, panels


def _printed(results: Results, values: Values, columns: Sequence[str], text: str) -> Figure:
    """Print values by system and dataset: a panel per dataset, a row per system."""
    drawing, panels = small_multiples(list(results.rows), CELL * len(results.system_names) + 0.35, sharey=True)
    for dataset, panel in zip(results.rows, panels, strict=True):
        value_rows(panel, np.array([values[system, dataset] for system in results.system_names]), columns, results.system_names)
    below(drawing, text)
    return drawing


@figure
def document_lengths(results: Results) -> Figure:
    """Draw violins per dataset: all documents, relevant ones, and the first hits of each system."""
    drawing, panels = violin_panels(results.lengths, results.system_names, WORDS, 0.17)
    for panel in panels:
        panel.axhline(1.5, color="#bbbbbb", linewidth=0.6)
    return drawing


@figure
def holes(results: Results) -> Figure:
    """Draw the share of first hits judged for no query against the main measure; for many systems, print both."""
    styles = style_of(results.system_names)
    height = row_height(results.system_names) * len(results.rows) + 0.45
    printed = len(results.system_names) > MOST_LINES
    if printed:
        height = CELL * len(results.rows) + 1.2
    cutoff = cutoff_of(results.main_measure)
    names = [results.main_measure, f"Hole@{cutoff}"]
    drawing, panels = small_multiples(names if printed else ["", ""], height, HALF, sharey=True)
    for name, panel in zip(names, panels, strict=True):
        if printed:
            table = np.array([[results.measures[system, row][name] for system in results.system_names] for row in results.rows])
            value_rows(panel, table, results.system_names, list(results.rows), mark_best=False)
            panel.tick_params(axis="x", rotation=90)
            continue
        values = {system: [results.measures[system, row][name] for row in results.rows] for system in results.system_names}
        dot_rows(panel, list(results.rows), values, styles)
        panel.set_xlim(-0.02, 1.02)
        panel.set_xlabel(name)
    below(drawing, f"{names[1]}: share of the first {cutoff} that is judged for no query")
    if not printed:
        system_legend(drawing, styles, lines=False)
    return drawing


@figure
def cost(results: Results) -> Figure:
    """Plot four kinds of cost: a panel per kind, a row per dataset, a marker per system."""
    styles = style_of(results.system_names)
    height = row_height(results.system_names) * len(results.rows) + 0.6
    drawing, panels = small_multiples([""] * len(COSTS), height, sharey=True)
    table = results.costs.set_index(["system", "dataset"])
    for (column, label), panel in zip(COSTS, panels, strict=True):
        unit, size = bytes_unit(table[column].max()) if column.endswith("_bytes") else ("", 1.0)
        values = {system: [table[column][system, row] / size for row in results.rows] for system in results.system_names}
        dot_rows(panel, list(results.rows), values, styles)
        known = table[column].dropna() / size
        panel.set_xlabel(f"{label}{unit}" if len(known) else f"{label}:\nunknown")
        log_where_wide(panel, known)
    system_legend(drawing, styles, lines=False)
    return drawing


@figure
def pareto(results: Results) -> Figure:
    """Plot the main measure against cost, one panel per kind of cost, with the Pareto front."""
    table, styles = figure_tables.pareto(results), style_of(results.system_names)
    if len(table) < 2:
        return words_only(f"{results.baseline} is the only system: there is nothing to compare it with.")
    drawing, panels = small_multiples(["", ""], 2.8, HALF, sharey=True)
    unit, size = bytes_unit(table["index_bytes"].max())
    scales = {"seconds_per_query": ("milliseconds per query", 1000.0), "index_bytes": (f"index size on disk{unit}", 1 / size)}
    for (column, (label, factor)), panel in zip(scales.items(), panels, strict=True):
        known = table[table[column].notna()]
        costs = known[column] * factor
        front = known[known[figure_tables.FRONTS[column]]].sort_values([column, results.main_measure])
        panel.step(front[column] * factor, front[results.main_measure], where="post", color=GREY, linewidth=0.8, zorder=1)
        for system, x, y in zip(known["system"], costs, known[results.main_measure], strict=True):
            panel.plot(
                [x], [y], **{**styles[system], "linestyle": ""}, markersize=5, markeredgecolor="white", markeredgewidth=0.3
            )
        missing = "" if len(known) == len(table) else f"\n({len(table) - len(known)} unknown)" if len(known) else ":\nunknown"
        panel.set_xlabel(label + missing)
        log_where_wide(panel, costs)
    panels[0].set_ylabel(f"mean {results.main_measure}")
    panels[0].margins(y=0.08)
    datasets = "1 dataset" if len(results.rows) == 1 else f"{len(results.rows)} datasets"
    below(drawing, f"mean over {datasets}; line: Pareto front")
    for (column, (_, factor)), panel in zip(scales.items(), panels, strict=True):
        known = table[table[column].notna()]
        if len(known):
            name_points(panel, known["system"], known[column] * factor, known[results.main_measure])
    return drawing


def draw_figures(*, shared: Results, folder: str, style: Mapping[str, Any] | None = None) -> None:
    """Draw all figures as ``<name>.pdf`` and ``<name>.svg``.

    ``style`` has arguments of :func:`~beirflow.report.figure_style.house_style`. Raise DataError if values are not those that
    were recorded, or the font is missing.
    """
    with house_style(**(style or {})):
        for name, draw in registered("figure").items():
            save(draw(shared), folder, name)
