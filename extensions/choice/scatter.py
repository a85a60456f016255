"""Scatter plots of quality over cost, as marks that a template draws: text stays text, colours are those of the page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator, MaxNLocator

from beirflow.report.figure_style import is_wide
from beirflow.report.pages import short

WIDTH, HEIGHT = 380.0, 300.0  # of a drawing, in pixels of the text
LEFT, RIGHT, TOP, BOTTOM = 56.0, 14.0, 14.0, 44.0  # around the panel
LETTER, LINE = 6.1, 12.0  # width and height of a label's letters


@dataclass(frozen=True)
class Scatter:
    """A plot: the label of the cost axis, ticks with their places, points, polylines, and the systems of unknown cost."""

    label: str
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    points: list[dict[str, Any]]
    lines: list[str]
    missing: list[str]


def scatter(table: pd.DataFrame, cost: str, measure: str, label: str, *, series: str = "") -> Scatter | None:
    """Return a plot of a measure with its interval over a cost, in the columns of ``choice.csv``; None if no cost is known.

    The line is the front. With ``series``, a column, a line for each value of it joins points in the order of their cost; a point
    without a value is on every line.
    """
    missing = [str(name) for name in table["system"][table[cost].isna()]]
    known = table[table[cost].notna()]
    if known.empty:
        return None
    low, high = known["low"].fillna(known[measure]), known["high"].fillna(known[measure])
    log = is_wide(known[cost])
    x_bounds = _padded(np.log10(known[cost])) if log else (0.0, 1.08 * float(known[cost].max()) or 1.0)
    y_bounds = _padded(pd.concat([low, high]))

    def x(value: float) -> float:
        """Return the horizontal place of a value."""
        return _place(np.log10(value) if log else value, x_bounds, LEFT, WIDTH - RIGHT)

    def y(value: float) -> float:
        """Return the vertical place of a value."""
        return _place(value, y_bounds, HEIGHT - BOTTOM, TOP)

    points: list[dict[str, Any]] = [
        {
            "name": str(row["system"]),
            "x": x(row[cost]),
            "y": y(row[measure]),
            "label": None,
            "low": y(bottom),
            "high": y(top),
            "front": bool(row[f"front_of_{cost}"]) if f"front_of_{cost}" in row else False,
            "text": f"{row['system']}: {measure} {row[measure]:.4f}, {label} {short(row[cost])}",
        }
        for row, bottom, top in zip(known.to_dict("records"), low, high, strict=True)
    ]
    _label(points)
    if series:
        of_point = [None if pd.isna(name) else name for name in known[series]]
        groups = [name for name in dict.fromkeys(of_point) if name is not None]
        lines = [_in_order(p for p, name in zip(points, of_point, strict=True) if name in (None, group)) for group in groups]
    else:
        front = _in_order(point for point in points if point["front"])
        # Steps: a budget between two points buys the cheaper one.
        corners = [(after[0], before[1]) for before, after in pairwise(front)]
        lines = [sorted([*front, *corners], key=lambda place: (place[0], -place[1]))]
    return Scatter(
        label,
        [(round(x(value), 1), short(value)) for value in _ticks(x_bounds, log=log)],
        [(round(y(value), 1), f"{value:.6g}") for value in _ticks(y_bounds, log=False)],
        points,
        [" ".join(f"{place[0]:.1f},{place[1]:.1f}" for place in places) for places in lines],
        missing,
    )


def _in_order(points: Iterable[dict[str, Any]]) -> list[tuple[float, float]]:
    """Return the places of points in the order of their cost."""
    return sorted((point["x"], point["y"]) for point in points)


def _padded(values: Iterable[float]) -> tuple[float, float]:
    """Return bounds a little wider than some values."""
    found = np.array(list(values))
    pad = 0.06 * float(np.ptp(found)) or 0.05
    return float(found.min()) - pad, float(found.max()) + pad


def _place(value: float, bounds: tuple[float, float], start: float, end: float) -> float:
    return round(float(start + (value - bounds[0]) / (bounds[1] - bounds[0]) * (end - start)), 1)


def _ticks(bounds: tuple[float, float], *, log: bool) -> list[float]:
    """Return round values between bounds; those of a logarithmic axis are exponents of ten."""
    if log:
        low, high = 10 ** bounds[0], 10 ** bounds[1]
        decades = bounds[1] - bounds[0]
        found = LogLocator(subs=(1.0, 3.0) if decades < 2 else (1.0,), numticks=6).tick_values(low, high)
        return [float(value) for value in found if low <= value <= high]
    return [float(value) for value in MaxNLocator(5).tick_values(*bounds) if bounds[0] <= value <= bounds[1]]


def _label(points: Sequence[dict[str, Any]]) -> None:
    """Place the names of points next to these, first of those on the front, where they cover no point and no other name."""
    taken = [(point["x"] - 4, point["y"] - 4, point["x"] + 4, point["y"] + 4) for point in points]
    for point in sorted(points, key=lambda point: not point["front"]):
        width = LETTER * len(point["name"])
        for anchor, down in (("start", -5), ("end", -5), ("start", 13), ("end", 13)):
            left = point["x"] + 6 if anchor == "start" else point["x"] - 6 - width
            box = (left, point["y"] + down - LINE + 2, left + width, point["y"] + down + 2)
            inside = box[0] >= LEFT and box[2] <= WIDTH and box[1] >= 0 and box[3] <= HEIGHT - BOTTOM
            clashes = (box[0] < of[2] and of[0] < box[2] and box[1] < of[3] and of[1] < box[3] for of in taken)
            if inside and not any(clashes):
                taken.append(box)
                point["label"] = {"x": point["x"] + (6 if anchor == "start" else -6), "y": point["y"] + down, "anchor": anchor}
                break
