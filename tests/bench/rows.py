"""From measurements to rows of the table: paired ratios, their median and spread."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.measurement import Measurement
from bench.stage import Clock, Stage, Target

Runs = Mapping[str, Sequence[Measurement]]
"""By name of the side, its runs in the order of the rounds."""

WORDS = {"seconds": "time", "memory": "peak memory", "growth": "peak memory above imports"}


@dataclass(frozen=True)
class Row:
    """One target and what was found.

    Attributes:
        stage: Name of the row.
        compared: What is compared, in words.
        unit: ``×`` for a ratio, else ``s`` or ``GB``.
        values: One value a round, in that unit.
        at_most: The target.
        met: Whether the median keeps to it.
        seconds: Median times of the side and of the one it is compared with, if there is one.
        memory: Median peaks of both, in bytes.
    """

    stage: str
    compared: str
    unit: str
    values: Sequence[float]
    at_most: float
    met: bool
    seconds: Sequence[float]
    memory: Sequence[float]

    @property
    def median(self) -> float:
        """Median over the rounds."""
        return median(self.values)


def paired_ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """The ratio within each round that both sides were run in."""
    return [a / b for a, b in zip(ours, theirs, strict=False)]


def make_row(stage: Stage, target: Target, runs: Runs) -> Row:
    """Judge one target.

    Args:
        stage: The stage.
        target: One of its targets.
        runs: What was measured.

    Returns:
        The row.
    """
    names = [target.side, *([target.over] if target.over else [])]
    clock = target.clock or stage.clock
    found = [[run.value(target.quantity, clock) for run in runs[name]] for name in names]
    unit = "×" if target.over else "s" if target.quantity == "seconds" else "GB"
    values = paired_ratios(*found) if target.over else found[0]
    at_most, scale = target.at_most, 1e9 if unit == "GB" else 1.0
    return Row(
        stage=target.row or stage.name,
        compared=f"{_words(target, clock)}: {' / '.join(names)}",
        unit=unit,
        values=[value / scale for value in values],
        at_most=at_most / scale,
        met=median(values) <= at_most,
        seconds=[median(run.value("seconds", clock) for run in runs[name]) for name in names],
        memory=[median(run.peak for run in runs[name]) for name in names],
    )


def _words(target: Target, clock: Clock) -> str:
    return f"time of the {clock}" if target.quantity == "seconds" else WORDS[target.quantity]
