"""What a stage is: an input, the sides that compute the same from it, a check that they agree, and the targets."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Quantity = Literal["seconds", "memory", "growth"]
"""What is compared: time, peak memory of the process, or peak memory above that of its imports."""

Clock = Literal["process", "call"]
"""Whether times are those of the whole process, or of the call as the process itself reports it."""


@dataclass(frozen=True)
class Side:
    """One way to do the work, as a command that is run in a fresh process.

    Attributes:
        name: How the table calls it; it begins with ``ours`` where it is ours.
        command: Program and arguments.
        output: Folder for what it writes; emptied before every run.
        runs: Most runs, where fewer than the rounds of the stage are enough.
    """

    name: str
    command: Sequence[str]
    output: Path
    runs: int | None = None


@dataclass(frozen=True)
class Target:
    """What should hold: a quantity of one side, or its ratio to that of another side, is at most a number.

    Attributes:
        quantity: What is compared.
        side: Name of a side.
        at_most: The number; a ratio, or seconds or bytes where there is no other side.
        over: Name of the side that is divided by; None for a plain quantity.
        row: Name of the row in the table, where it is not that of the stage.
        clock: Which times are compared, where they are not those of the stage.
    """

    quantity: Quantity
    side: str
    at_most: float
    over: str | None = None
    row: str | None = None
    clock: Clock | None = None


@dataclass(frozen=True)
class Stage:
    """One comparison.

    Attributes:
        name: Its name.
        input: What all sides are given, in a sentence.
        clock: Whether times are those of the whole ``process``, or of the ``call`` as the process itself reports it.
        rounds: How often every side is run; in a round each side has its turn.
        inputs: Command that makes the input; not timed.
        sides: What is run, ours first.
        check: Command that compares what the sides wrote, prints what it found, and fails where they disagree.
        targets: What should hold.
        left_out: Rows that are not run here, with the reason.
    """

    name: str
    input: str
    clock: Clock
    rounds: int
    inputs: Sequence[str]
    sides: Sequence[Side]
    check: Sequence[str]
    targets: Sequence[Target]
    left_out: Sequence[tuple[str, str]] = ()


class CannotRunError(Exception):
    """A stage lacks something that it needs; the message says what."""
