"""A stage: an input, the sides that compute the same from it, a check that they agree, and targets; and the settings of a run."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

REPOSITORY = Path(__file__).parents[2]

Quantity = Literal["seconds", "memory", "growth"]
"""Time, peak memory of the process, or peak memory above that of its imports."""

Clock = Literal["process", "call"]
"""Times of the whole process, or of the call as the process itself reports it."""


class CannotRunError(Exception):
    """A stage lacks something that it needs; the message says what."""


@dataclass(frozen=True)
class Side:
    """One way to do the work, as a command that is run in a fresh process.

    Attributes:
        name: Its name in the table; it begins with ``ours`` where it is ours.
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
    """A quantity of one side, or its ratio to that of another side, that should be at most a number.

    Attributes:
        quantity: What is compared.
        side: Name of a side.
        at_most: A ratio, or seconds or bytes where there is no other side.
        over: Name of the side that is divided by; None for a plain quantity.
        row: Name of the row in the table, where it is not that of the stage.
        clock: The clock, where it is not that of the stage.
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
        clock: Which times are compared.
        rounds: How often every side is run; in a round each side has its turn.
        inputs: Command that makes the input; not timed.
        sides: What is run, ours first.
        check: Command that compares what the sides wrote, prints what it compared, and fails where they disagree.
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


@dataclass(frozen=True)
class Settings:
    """Choices of the command line.

    Attributes:
        quick: Whether inputs are small and rounds few.
        repeats: Rounds of every stage; None for each stage's own number.
        own_python: Interpreter of beirflow's environment, in which our sides run.
        peer_python: Interpreter of the environment that also has the peers' packages.
        nfcorpus: The official archive of NFCorpus; None if nobody named one.
        cores: Processor cores that every side may use.
        device: ``auto``, or ``cpu`` to hide GPUs from all sides.
    """

    quick: bool
    repeats: int | None
    own_python: str
    peer_python: str
    nfcorpus: Path | None
    cores: int
    device: str

    def own(self, function: str, *arguments: object) -> list[str]:
        """Command that calls ``bench.stages.<function>`` in beirflow's environment."""
        return [self.own_python, "-m", "bench.child", function, *map(str, arguments)]

    def peer(self, function: str, *arguments: object) -> list[str]:
        """The same in the environment of the peers."""
        return [self.peer_python, "-m", "bench.child", function, *map(str, arguments)]

    def own_side(self, name: str, function: str, output: Path, *arguments: object, runs: int | None = None) -> Side:
        """A side that calls a function with its output folder and these arguments, in beirflow's environment."""
        return Side(name, self.own(function, output, *arguments), output, runs)

    def peer_side(self, name: str, function: str, output: Path, *arguments: object) -> Side:
        """The same in the environment of the peers."""
        return Side(name, self.peer(function, output, *arguments), output)

    def rounds(self, full: int, quick: int) -> int:
        """Number of rounds of a stage."""
        return self.repeats or (quick if self.quick else full)

    def needed_nfcorpus(self) -> Path:
        """The archive of NFCorpus; CannotRunError without it."""
        if self.nfcorpus is None or not self.nfcorpus.is_file():
            raise CannotRunError("no nfcorpus.zip; name it with --nfcorpus, or its folder in BEIRFLOW_ARCHIVES")
        return self.nfcorpus

    def environment(self) -> Mapping[str, str]:
        """Variables of every child: our modules on the path, the same threads for every library, no network."""
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), str(self.cores))
        hidden = {"CUDA_VISIBLE_DEVICES": ""} if self.device == "cpu" else {}
        path = os.pathsep.join([str(REPOSITORY / "tests"), str(REPOSITORY / "workflow")])
        return {**os.environ, **threads, **hidden, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}


Maker = Callable[[Settings, Path], Stage]
"""Makes a stage whose files are in a folder; raises CannotRunError where it lacks something."""
