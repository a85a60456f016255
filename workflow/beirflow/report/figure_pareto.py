"""The Pareto front: NDCG against seconds per query and index size."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from beirflow.report.figure_data import Results
from beirflow.report.figure_style import (
    GREY,
    HALF,
    below,
    bytes_unit,
    log_where_wide,
    small_multiples,
    style_of,
    system_legend,
)
from beirflow.report.figure_tables import FRONTS, pareto_table

HEIGHT = 2.2
MILLISECONDS = 1000.0


def pareto(results: Results) -> Figure:
    """Plot the main measure against cost, one panel per kind of cost, with the Pareto front."""
    table, styles = pareto_table(results.means, results.costs, results.measure), style_of(results.systems)
    figure, panels = small_multiples(["", ""], HEIGHT, HALF, sharey=True)
    unit, size = bytes_unit(table["index_bytes"].max())
    scales = {"seconds_per_query": ("milliseconds a query", MILLISECONDS), "index_bytes": (f"index on disk{unit}", 1 / size)}
    for (column, (label, factor)), panel in zip(scales.items(), panels, strict=True):
        known = table[table[column].notna()]
        costs = known[column] * factor
        front = known[known[FRONTS[column]]].sort_values([column, results.measure])
        panel.step(front[column] * factor, front[results.measure], where="post", color=GREY, linewidth=0.8, zorder=1)
        for system, x, y in zip(known["system"], costs, known[results.measure], strict=True):
            panel.plot(
                [x], [y], **{**styles[system], "linestyle": ""}, markersize=5, markeredgecolor="white", markeredgewidth=0.3
            )
        _label(panel, label, len(known), len(table))
        log_where_wide(panel, costs)
    panels[0].set_ylabel(f"mean {results.measure}")
    below(figure, f"mean over {_counted(len(results.datasets))}; line: no other system is as good for as little")
    system_legend(figure, styles, lines=False)
    return figure


def _label(panel: Axes, label: str, known: int, systems: int) -> None:
    """The name of a cost, and of how many systems it is not known."""
    missing = "" if known == systems else ":\nnot known" if not known else f",\nnot known of {systems - known}"
    panel.set_xlabel(label + missing)


def _counted(datasets: int) -> str:
    return "1 dataset" if datasets == 1 else f"{datasets} datasets"
