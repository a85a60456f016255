"""What it cost: speed, time, memory and disk, by dataset and system."""

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from beirflow.report.figure_data import Results
from beirflow.report.figure_style import dot_rows, plain, row_height, small_multiples, style_of, system_legend

PANELS = (
    ("documents_per_second", "documents indexed\na second"),
    ("seconds", "seconds,\nall stages"),
    ("peak_memory_bytes", "most memory\nof a job"),
    ("index_bytes", "index\non disk"),
)
"""Column of ``cost.csv``, and the label below the panel."""

UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


WIDE = 30
"""Factor between the largest and the smallest value from which an axis is logarithmic."""


def cost(results: Results) -> Figure:
    """A panel a kind of cost, a row a dataset, a marker a system."""
    styles = style_of(results.systems)
    height = row_height(results.systems) * len(results.datasets) + 0.6
    figure, panels = small_multiples([""] * len(PANELS), height, sharey=True)
    table = results.costs.set_index(["system", "dataset"])
    for (column, label), panel in zip(PANELS, panels, strict=True):
        unit, size = _unit(table[column].max()) if column.endswith("_bytes") else ("", 1.0)
        values = {system: [table[column][system, row] / size for row in results.datasets] for system in results.systems}
        dot_rows(panel, results.datasets, values, styles)
        known = table[column].dropna() / size
        panel.set_xlabel(f"{label}{unit}" if len(known) else f"{label}:\nnot known")
        if not len(known):
            panel.set_xticks([])
        elif known.max() > WIDE * known.min() > 0:
            panel.set_xscale("log")
            panel.xaxis.set_major_locator(LogLocator(numticks=5))
            panel.xaxis.set_major_formatter(plain)
        else:
            panel.set_xlim(0, 1.08 * known.max())
    system_legend(figure, styles, lines=False)
    return figure


def _unit(largest: float) -> tuple[str, float]:
    """How to write bytes: the end of the label, and what they are divided by."""
    name, size = next(((name, size) for name, size in UNITS if largest >= size), UNITS[-1])
    return f", {name}", size
