"""Style of figures, shared parts, and writing: the same numbers give the same bytes.

Colour is never the only distinction: every system also has its own marker and line style, and the colours (Okabe and Ito 2008)
suit colour-blind readers. Text stays text in SVG, so that it can be searched, read aloud and set in the fonts of the page.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise, product
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator
from matplotlib.transforms import Bbox

from beirflow import WORKFLOW
from beirflow.core.errors import DataError
from beirflow.core.writing import atomic_path
from beirflow.data.catalogue.schema import nearest
from beirflow.report.analysis.lengths import Lengths
from beirflow.report.registry import EMPTY

WIDTH, FONT = 7.2, "DejaVu Sans"  # inches of a page with two columns, and a font that comes with matplotlib
SINGLE = 4.32  # maximum inches of a figure with a single panel
LETTERS = 17.6  # characters per inch of the text below a figure
PANEL, HALF = 1.8, 3.6  # minimum inches of one of many panels or of a legend entry, and of one of two panels

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "X", "P", "*")
LINES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)))
GREY = "#767676"
SHADES = LinearSegmentedColormap.from_list("shades", ["#ffffff", "#7fb1d8"])  # light enough for black numbers
CELL, CELL_FONT = 0.145, 6.2  # inches of a row of printed values, and points of its numbers
MOST_LINES = 6  # above, lines in a panel are indistinguishable, and values are printed instead

# Without dates and versions, the same numbers give the same bytes.
WITHOUT_DATES: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
}

POINTS = 72  # of an inch
REACHES, SIDES = (5, 9, 14, 20, 28), ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
ALIGNED = {1: "left", 0: "center", -1: "right"}
"""Places of a name next to its point: distances in points, nearest first, directions, and by direction the alignment."""

BEHIND_A_NAME = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}

VIOLIN = 0.42  # reach of a violin up and down; rows are 1 apart

WORDS = "words of all documents, of the relevant ones, and of the first 10 hits of each system"
"""Description of the lengths in a figure."""

UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))

WIDE = 30  # ratio of largest to smallest value above which an axis is logarithmic
plain = FuncFormatter(lambda value, _: f"{value:,.10g}")  # plain numbers on a logarithmic axis


@contextmanager
def house_style(width: float = WIDTH, font: str = FONT) -> Iterator[None]:
    """Use ``workflow/report/figures.mplstyle`` in the block; raise DataError if this machine lacks the font family.

    ``width`` is in inches, e.g. 3.3 for a column; a figure with long names is wider.
    """
    families = [font, *(name for name in (FONT, "Arial", "Helvetica", "sans-serif") if name != font)]
    try:
        font_manager.findfont(font, fallback_to_default=False)
    except ValueError:
        fonts = {font.name for font in font_manager.fontManager.ttflist}
        raise DataError(
            f"figure_font: {font!r} is not among the {len(fonts)} families of fonts of this machine{nearest(font, fonts)}"
        ) from None
    with mpl.rc_context():
        # The user's matplotlibrc must not change a byte.
        mpl.rcdefaults()
        mpl.style.use(WORKFLOW / "report/figures.mplstyle")
        mpl.rcParams.update({"figure.figsize": (width, width), "font.sans-serif": families})
        yield


def full_width() -> float:
    """Return the full width of a figure in inches."""
    return float(mpl.rcParams["figure.figsize"][0])


def single_width() -> float:
    """Return the width of a figure with a single panel in inches."""
    return min(SINGLE, full_width())


def style_of(systems: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the colour, marker and line of every system, in the order of the configuration."""
    return {
        system: {
            "color": COLOURS[number % len(COLOURS)],
            "marker": MARKERS[number % len(MARKERS)],
            "linestyle": LINES[number % len(LINES)],
        }
        for number, system in enumerate(systems)
    }


def small_multiples(titles: Sequence[str], height: float, least: float = PANEL, **options: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels in rows, one per title; ``height`` and minimum width of a panel are in inches.

    ``options`` are those of ``Figure.subplots``, e.g. ``sharex``.
    """
    columns = max(1, min(round(full_width() / least), len(titles)))
    rows = -(-len(titles) // columns)
    figure = Figure(figsize=(full_width() if columns > 1 else single_width(), rows * height + 0.5), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for panel in panels[len(titles) :]:
        panel.remove()
    for above in panels[len(titles) - columns : rows * columns - columns]:
        above.tick_params(labelbottom=True)
    for panel, title in zip(panels, titles, strict=False):
        panel.set_title(title)
    return figure, panels[: len(titles)]


def system_legend(figure: Figure, styles: Mapping[str, Mapping[str, Any]], *, lines: bool) -> None:
    """Add the legend of systems above the panels, with line styles if there are ``lines``."""
    handles = [Line2D([], [], label=name, **{**style, **({} if lines else {"linestyle": ""})}) for name, style in styles.items()]
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=max(1, min(round(full_width() / PANEL), len(handles))),
        handlelength=3 if lines else 1,
    )


def value_rows(panel: Axes, values: np.ndarray, columns: Sequence[str], rows: Sequence[str], *, mark_best: bool = True) -> None:
    """Print a shaded table of values from 0 to 1, float64 of shape (rows, columns); the highest of a column is bold."""
    panel.imshow(values, cmap=SHADES, vmin=0, vmax=1, aspect="auto")
    best = np.nanmax(values, axis=0, initial=-1)
    for row, column in zip(*np.nonzero(~np.isnan(values)), strict=True):
        value = values[row, column]
        text = f"{value:.2f}".removeprefix("0") if value < 0.995 else "1"
        weight = "bold" if mark_best and value == best[column] else "normal"
        panel.text(column, row, text, ha="center", va="center", fontsize=CELL_FONT, fontweight=weight)
    panel.set_xticks(range(len(columns)), columns)
    panel.set_yticks(range(len(rows)), rows)
    panel.tick_params(length=0)
    panel.grid(visible=False)
    panel.spines[:].set_visible(False)


def below(figure: Figure, text: str) -> None:
    """Write text below the panels, wrapped for a figure of one column."""
    figure.supxlabel(fill(text, int(LETTERS * min(SINGLE, figure.get_figwidth()))))


def row_height(systems: Sequence[str]) -> float:
    """Return the height in inches of a row of :func:`dot_rows`, so that markers do not overlap."""
    return max(0.21, 0.055 * len(systems))


def dot_rows(panel: Axes, rows: Sequence[str], values: Mapping[str, Sequence[float]], styles: Mapping[str, Any]) -> None:
    """Draw a row per dataset with a marker per system, vertically staggered.

    ``values`` has by system a value for each row, not-a-number if there is none; ``styles`` are those of :func:`style_of`.
    """
    for number, (system, numbers) in enumerate(values.items()):
        shift = ((number + 0.5) / len(values) - 0.5) * (0.6 if len(values) <= MOST_LINES else 0.85)
        heights = [row + shift for row in range(len(rows))]
        panel.plot(numbers, heights, **{**styles[system], "linestyle": ""}, markeredgecolor="white", markeredgewidth=0.3)
    panel.set_yticks(range(len(rows)), rows)
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.grid(visible=False, axis="y")
    for row in range(0, len(rows), 2):
        panel.axhspan(row - 0.5, row + 0.5, color="#f5f5f5", linewidth=0, zorder=0)


def name_rows(panel: Axes, names: Sequence[str]) -> None:
    """Name the rows of a panel from top to bottom."""
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.4, -0.6)
    panel.grid(visible=False, axis="y")


def violin_panels(lengths: Mapping[str, Lengths], systems: Sequence[str], what: str, row: float) -> tuple[Figure, list[Axes]]:
    """Return a figure of document lengths and its panels: one panel per dataset, one violin per name in rows of some inches.

    Systems have colours, other names are grey; ``what`` describes the lengths below the panels.
    """
    names = list(dict.fromkeys(name for kinds in lengths.values() for name in kinds))
    styles = style_of(systems)
    figure, panels = small_multiples(list(lengths), row * len(names) + 0.5, sharex=True, sharey=True)
    for kinds, panel in zip(lengths.values(), panels, strict=True):
        for name, (edges, counts) in kinds.items():
            violin(panel, names.index(name), np.array(edges), np.array(counts), styles[name]["color"] if name in styles else GREY)
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter(plain)
        name_rows(panel, names)
    below(figure, f"{what}; white: median and interquartile range")
    return figure, panels


def violin(panel: Axes, place: int, edges: np.ndarray, counts: np.ndarray, colour: str) -> None:
    """Draw the density over the log length in row ``place``, with quartiles; nothing without counts.

    ``edges`` are the bounds of n bins in words, int64 of shape (n + 1,), ``counts`` theirs, int64 of shape (n,).
    """
    if not counts.sum():
        return
    bounds = np.maximum(edges[: len(counts) + 1].astype(np.float64), 0.5)
    # Bins grow with the length, so counts are divided by the width of the bin on the axis.
    density = counts / np.log(bounds[1:] / bounds[:-1])
    width = VIOLIN * density / density.max()
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


def bytes_unit(largest: float) -> tuple[str, float]:
    """Choose a unit for bytes: the end of the label, and the divisor."""
    name, size = next(((name, size) for name, size in UNITS if largest >= size), UNITS[-1])
    return f", {name}", size


def is_wide(values: pd.Series) -> bool:
    """Test whether the axis of some values is logarithmic."""
    return bool(values.max() > WIDE * values.min() > 0)


def log_where_wide(panel: Axes, values: pd.Series) -> None:
    """Start the axis at 0, or make it logarithmic for a wide range; without values it has no ticks."""
    if values.empty:
        panel.set_xticks([])
    elif is_wide(values):
        panel.set_xscale("log")
        panel.xaxis.set_major_locator(LogLocator(numticks=5))
        panel.xaxis.set_major_formatter(plain)
    else:
        panel.set_xlim(0, 1.08 * values.max())


def name_points(panel: Axes, names: Iterable[str], x: Iterable[float], y: Iterable[float]) -> None:
    """Write names beside points, each where it covers least of other names, points, steps and of what is outside the panel.

    The limits of the axes must be final. A name that is not next to its point has a line to it.
    """
    figure: Any = panel.get_figure()
    known = sorted(zip(names, x, y, strict=True), key=lambda point: -point[2])
    figure.draw_without_rendering()
    dot, points = figure.dpi / POINTS, panel.transData.transform([point[1:] for point in known])
    taken = [Bbox.from_extents(*(place - 3 * dot), *(place + 3 * dot)) for place in points]
    for steps in (line for line in panel.lines if line.get_drawstyle() == "steps-post"):
        for (left, low), (right, high) in pairwise(panel.transData.transform(steps.get_xydata())):
            taken.append(Bbox.from_extents(left, low - dot, right, low + dot))
            taken.append(Bbox.from_extents(right - dot, low, right + dot, high))
    for (name, *values), place in zip(known, points, strict=True):
        line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 2.5}
        text = panel.annotate(
            name, (values[0], values[1]), (0, 0), textcoords="offset points", fontsize=CELL_FONT, va="center", arrowprops=line
        )
        text.set_in_layout(False)
        size = np.array([(box := text.get_window_extent()).width, box.height])
        options: list[Any] = []
        for reach, (right, up) in product(REACHES, SIDES):
            low = place + dot * reach * np.array([right, up]) - size * [(1 - right) / 2, 0.5]
            box = Bbox.from_extents(*low, *(low + size))
            covered = sum(_area(Bbox.intersection(box, other)) for other in taken)
            outside = _area(box) - _area(Bbox.intersection(box, panel.bbox))
            options.append((covered + outside, len(options), (reach * right, reach * up), ALIGNED[right], box))
        _, _, position, aligned, box = min(options, key=lambda option: option[:2])
        text.set(position=position, ha=aligned)
        taken.append(box)


def _area(box: Bbox | None) -> float:
    return box.width * box.height if box else 0.0


def words_only(text: str) -> Figure:
    """Return a figure with a sentence on why there is nothing to draw."""
    figure = Figure(figsize=(single_width(), 0.8), layout="constrained")
    figure.set_gid(EMPTY)
    figure.text(0.5, 0.5, fill(text, int(LETTERS * single_width())), ha="center", va="center")
    return figure


def save(figure: Figure, folder: str, name: str, kinds: Iterable[str] = tuple(WITHOUT_DATES)) -> None:
    """Write a figure as ``<folder>/<name>.pdf`` and ``.svg``."""
    for kind in kinds:
        with atomic_path(Path(folder, f"{name}.{kind}")) as partial:
            figure.savefig(partial, format=kind, metadata=WITHOUT_DATES[kind])
