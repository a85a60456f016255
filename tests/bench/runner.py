"""Run a stage: make its input, run the sides in turn, each in a fresh process, check that they agree, judge the targets."""

import ctypes
import json
import logging
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from pathlib import Path
from statistics import linear_regression, median
from typing import Any

import psutil

from bench.machine import REPOSITORY, Settings
from bench.stage import CannotRunError, Clock, Quantity, Side, Stage, Target

PR_SET_CHILD_SUBREAPER = 36
MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024
LINEAR, MOST_MEMORY = 1.1, 3e9
"""Largest exponent of growth that counts as linear, and largest peak memory."""

WORDS = {"memory": "peak memory", "growth": "peak memory above imports"}

logger = logging.getLogger(__name__)


class ChildFailedError(Exception):
    """A child ended with an error; the message ends with the last lines that it wrote."""


@dataclass(frozen=True)
class Measurement:
    """One run of one side."""

    wall: float  # seconds from start to end of the process
    cpu: float  # seconds of processor time, all cores and descendants together
    peak: int  # largest resident set of the process, or of the largest of its descendants, in bytes
    report: Mapping[str, Any]  # said by the child itself, e.g. ``seconds`` of the call and ``growth``, bytes above its imports
    written: int = 0  # bytes of the files that it left

    def value(self, quantity: Quantity, clock: Clock) -> float:
        """One of the quantities that are compared."""
        if quantity == "growth":
            return float(self.report["growth"])
        if quantity == "memory":
            return float(self.peak)
        return float(self.report["seconds"]) if clock == "call" else self.wall


Runs = Mapping[str, Sequence[Measurement]]
"""By name of the side, its runs in the order of the rounds."""


@dataclass(frozen=True)
class Row:
    """One target and its values."""

    stage: str  # name of the row
    compared: str  # what is compared, in words
    unit: str  # ``×`` for a ratio, else ``s`` or ``GB``
    values: Sequence[float]  # one value a round, in that unit
    at_most: float  # the target
    met: bool  # whether the median keeps to it
    seconds: Sequence[float]  # median times of the side and of the one it is compared with, if there is one
    cpu: Sequence[float]  # median processor times of both, which other work on the machine changes little
    memory: Sequence[float]  # median peaks of both, in bytes

    @property
    def median(self) -> float:
        """Median over the rounds."""
        return median(self.values)


@dataclass(frozen=True)
class Outcome:
    """The figures or the failure of a stage."""

    name: str  # name of the stage
    stage: Stage | None = None  # the stage; None if it was not run
    runs: Runs = field(default_factory=dict)  # what was measured
    rows: tuple[Row, ...] = ()  # the targets, judged
    agreement: str = ""  # what the check compared
    not_run: tuple[tuple[str, str], ...] = ()  # rows, or the whole stage, that were not run, with the reason
    failure: str = ""  # what went wrong, or empty


def run_stage(name: str, make: Callable[[Settings, Path], Stage], settings: Settings) -> Outcome:
    """Run one stage in a temporary folder, which is deleted afterwards; a failure is part of the outcome."""
    with tempfile.TemporaryDirectory(prefix=f"beirflow-bench-{name}-") as folder:
        try:
            stage = make(settings, Path(folder))
        except CannotRunError as error:
            logger.info("%s: not run: %s", name, error)
            return Outcome(name, not_run=((name, str(error)),))
        try:
            return _run(stage, Path(folder), settings.environment())
        except ChildFailedError as error:
            logger.error("%s: FAILED: %s", name, error)
            return Outcome(name, stage, failure=str(error))


def _run(stage: Stage, folder: Path, environment: Mapping[str, str]) -> Outcome:
    logger.info("%s: %s", stage.name, stage.input)
    _log(stage, "input", measure(stage.inputs, environment, folder / "make-input"))
    runs: dict[str, list[Measurement]] = {side.name: [] for side in stage.sides}
    for number in range(stage.rounds):
        for side in stage.sides:
            if side.runs is None or number < side.runs:
                runs[side.name].append(_run_side(side, environment))
                _log(stage, f"round {number + 1} of {stage.rounds}, {side.name}", runs[side.name][-1])
    check = measure(stage.check, environment, folder / "check")
    _log(stage, "check", check)
    rows = tuple(make_row(stage, target, runs) for target in stage.targets)
    return Outcome(stage.name, stage, runs, rows, check.report["agree"], tuple(stage.left_out))


def _run_side(side: Side, environment: Mapping[str, str]) -> Measurement:
    shutil.rmtree(side.output, ignore_errors=True)
    side.output.mkdir(parents=True)
    measured = measure(side.command, environment, side.output)
    return replace(measured, written=sum(path.stat().st_size for path in side.output.rglob("*") if path.is_file()))


def _log(stage: Stage, step: str, run: Measurement) -> None:
    call = f", call {run.report['seconds']:.2f} s" if "seconds" in run.report else ""
    logger.info("  %-9s %-48s %8.2f s%s, peak %.2f GB", stage.name, step, run.wall, call, run.peak / 1e9)


def adopt_orphans() -> None:
    """Make this process, on Linux, the parent of processes that outlive a child: of the one that forks Snakemake's jobs."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def _wait_for_orphans(known: set[int]) -> Iterator[resource.struct_rusage]:
    """Wait for all children but the known ones; yield what they and their descendants took."""
    while adopted := _children() - known:
        for number in adopted:
            yield os.wait4(number, 0)[2]


def _children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


def measure(command: Sequence[str], environment: Mapping[str, str], log: Path) -> Measurement:
    """Run a command to its end, with its output in ``log`` with the suffixes ``.out`` and ``.err``.

    The kernel counts what this process held at the fork as memory of the child, so this process must stay small: it imports
    neither numpy nor torch, and inputs are made and checked by children as well.

    Raises:
        ChildFailedError: The child ended with a status that is not 0.
    """
    out, err = log.with_suffix(".out"), log.with_suffix(".err")
    with out.open("wb") as to_out, err.open("wb") as to_err:
        known, start = _children(), time.perf_counter()
        child = subprocess.Popen(command, cwd=REPOSITORY, env=dict(environment), stdout=to_out, stderr=to_err)
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            raise
        wall = time.perf_counter() - start
    usages = [usage, *_wait_for_orphans(known)]
    child.returncode = os.waitstatus_to_exitcode(status)
    text = out.read_text(errors="replace")
    if child.returncode != 0:
        lines = (text + err.read_text(errors="replace")).splitlines()
        raise ChildFailedError(f"{' '.join(command)} ended with {child.returncode}:\n" + "\n".join(lines[-15:]))
    last = text.rstrip().rpartition("\n")[2]
    report = json.loads(last) if last.startswith("{") else {}
    cpu, peak = sum(each.ru_utime + each.ru_stime for each in usages), max(each.ru_maxrss for each in usages)
    return Measurement(wall, cpu, peak * MAXRSS_BYTES, report)


@dataclass(frozen=True)
class Growth:
    """The cost of one side at several numbers of documents."""

    stage: str
    side: str
    documents: Sequence[int]  # ascending
    runs: Sequence[Measurement]  # one for each number

    @property
    def exponent(self) -> float:
        """By which power of the documents processor time grows, from one number to the last; fixed costs make it smaller."""
        return linear_regression(*([log(each) for each in of] for of in (self.documents, self.seconds))).slope

    @property
    def seconds(self) -> list[float]:
        """Processor time, which other work on the machine changes little."""
        return [run.cpu for run in self.runs]

    @property
    def met(self) -> bool:
        """Tell if it is not worse than linear, and every process within the memory."""
        return self.exponent <= LINEAR and max(run.peak for run in self.runs) <= MOST_MEMORY


def growths(outcomes: Iterable[Outcome]) -> list[Growth]:
    """The growth of each side that was run with several numbers of documents."""
    sizes: dict[tuple[str, str], dict[int, Measurement]] = {}
    for outcome in outcomes:
        for side, runs in outcome.runs.items():
            if outcome.stage and outcome.stage.documents:
                sizes.setdefault((outcome.name, side), {})[outcome.stage.documents] = min(runs, key=lambda run: run.cpu)
    return [Growth(*names, *zip(*sorted(of_side.items()), strict=True)) for names, of_side in sizes.items() if len(of_side) > 1]


def paired_ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """The ratio within each round that both sides were run in."""
    return [a / b for a, b in zip(ours, theirs, strict=False)]


def make_row(stage: Stage, target: Target, runs: Runs) -> Row:
    """Judge one target of a stage."""
    names = [target.side, *([target.over] if target.over else [])]
    clock = target.clock or stage.clock
    measured = [[run.value(target.quantity, clock) for run in runs[name]] for name in names]
    unit = "×" if target.over else "s" if target.quantity == "seconds" else "GB"
    values = paired_ratios(*measured) if target.over else measured[0]
    scale = 1e9 if unit == "GB" else 1.0
    words = f"time of the {clock}" if target.quantity == "seconds" else WORDS[target.quantity]
    return Row(
        stage=target.row or stage.name,
        compared=f"{words}: {' / '.join(names)}",
        unit=unit,
        values=[value / scale for value in values],
        at_most=target.at_most / scale,
        met=median(values) <= target.at_most,
        seconds=[median(run.value("seconds", clock) for run in runs[name]) for name in names],
        cpu=[median(run.cpu for run in runs[name]) for name in names],
        memory=[median(run.peak for run in runs[name]) for name in names],
    )
