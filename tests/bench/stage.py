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
    """One way to do the work, as a command that is run in a fresh process."""

    name: str  # in the table; it begins with ``ours`` where it is ours
    command: Sequence[str]
    output: Path  # folder for what it writes; emptied before every run
    runs: int | None = None  # most runs, where fewer than the rounds of the stage are enough


@dataclass(frozen=True)
class Target:
    """A quantity of one side, or its ratio to that of another side, that should be at most a number."""

    quantity: Quantity
    side: str
    at_most: float  # a ratio, or seconds or bytes where there is no other side
    over: str | None = None  # name of the side that is divided by; None for a plain quantity
    row: str | None = None  # name in the table, where it is not that of the stage
    clock: Clock | None = None


@dataclass(frozen=True)
class Stage:
    """One comparison."""

    name: str
    input: str  # what all sides are given, in a sentence
    clock: Clock
    rounds: int  # how often every side is run; in a round each side has its turn
    inputs: Sequence[str]  # command that makes the input; not timed
    sides: Sequence[Side]  # what is run, ours first
    check: Sequence[str]  # command that compares what the sides wrote, prints what it compared, and fails where they disagree
    targets: Sequence[Target]
    left_out: Sequence[tuple[str, str]] = ()  # rows that are not run here, with the reason


@dataclass(frozen=True)
class Settings:
    """Choices of the command line."""

    quick: bool  # whether inputs are small and rounds few
    repeats: int | None  # rounds of every stage; None for each stage's own number
    own_python: str  # interpreter of beirflow's environment, in which our sides run
    peer_python: str  # interpreter of the environment that also has the peers' packages
    nfcorpus: Path | None  # the official archive of NFCorpus; None if nobody named one
    cores: int  # processor cores that every side may use
    device: str  # ``auto``, or ``cpu`` to hide GPUs from all sides

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
