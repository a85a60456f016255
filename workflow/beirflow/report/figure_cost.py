"""Figures of cost: speed, time, memory and disk, by dataset and system."""

from matplotlib.figure import Figure

from beirflow.report.figure_data import Results
from beirflow.report.figure_style import (
    bytes_unit,
    dot_rows,
    log_where_wide,
    row_height,
    small_multiples,
    style_of,
    system_legend,
)

PANELS = (
    ("documents_per_second", "documents indexed\na second"),
    ("seconds", "seconds,\nall stages"),
    ("peak_memory_bytes", "most memory\nof a job"),
    ("index_bytes", "index\non disk"),
)
"""Column of ``cost.csv``, and the label below the panel."""


def cost(results: Results) -> Figure:
    """Plot four kinds of cost: a panel a kind, a row a dataset, a marker a system."""
    styles = style_of(results.systems)
    height = row_height(results.systems) * len(results.datasets) + 0.6
    figure, panels = small_multiples([""] * len(PANELS), height, sharey=True)
    table = results.costs.set_index(["system", "dataset"])
    for (column, label), panel in zip(PANELS, panels, strict=True):
        unit, size = bytes_unit(table[column].max()) if column.endswith("_bytes") else ("", 1.0)
        values = {system: [table[column][system, row] / size for row in results.datasets] for system in results.systems}
        dot_rows(panel, results.datasets, values, styles)
        known = table[column].dropna() / size
        panel.set_xlabel(f"{label}{unit}" if len(known) else f"{label}:\nnot known")
        log_where_wide(panel, known)
    system_legend(figure, styles, lines=False)
    return figure
