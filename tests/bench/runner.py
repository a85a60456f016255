"""Run a stage: make its input, run the sides in turn, check that they agree, judge the targets."""

import logging
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.measurement import ChildFailedError, Measurement, measure
from bench.rows import Row, Runs, make_row
from bench.settings import Settings
from bench.stage import CannotRunError, Side, Stage

logger = logging.getLogger(__name__)

Maker = Callable[[Settings, Path], Stage]
"""Makes a stage whose files lie in a folder; raises CannotRunError where it lacks something."""


@dataclass(frozen=True)
class Outcome:
    """What came of a stage.

    Attributes:
        name: Name of the stage.
        stage: The stage; None if it was not run.
        runs: What was measured.
        rows: The targets, judged.
        agreement: What the check found.
        not_run: Rows, or the whole stage, that were not run, with the reason.
        failure: What went wrong, or empty.
    """

    name: str
    stage: Stage | None = None
    runs: Runs = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    agreement: str = ""
    not_run: tuple[tuple[str, str], ...] = ()
    failure: str = ""


def run_stage(name: str, maker: Maker, settings: Settings) -> Outcome:
    """Run one stage in a temporary folder, which is deleted afterwards.

    Args:
        name: Name of the stage.
        maker: What makes it.
        settings: The choices of the command line.

    Returns:
        What came of it; a failure is part of that, so that the other stages still run.
    """
    with tempfile.TemporaryDirectory(prefix=f"beirflow-bench-{name}-") as folder:
        try:
            stage = maker(settings, Path(folder))
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
    _step("input", measure(stage.inputs, environment, folder / "make-input"), stage)
    runs: dict[str, list[Measurement]] = {side.name: [] for side in stage.sides}
    for number in range(stage.rounds):
        for side in stage.sides:
            if side.runs is None or number < side.runs:
                done = _run_side(side, environment)
                runs[side.name].append(done)
                _step(f"round {number + 1} of {stage.rounds}, {side.name}", done, stage)
    done = measure(stage.check, environment, folder / "check")
    _step("check", done, stage)
    rows = tuple(make_row(stage, target, runs) for target in stage.targets)
    return Outcome(stage.name, stage, runs, rows, done.report["agree"], tuple(stage.left_out))


def _run_side(side: Side, environment: Mapping[str, str]) -> Measurement:
    shutil.rmtree(side.output, ignore_errors=True)
    side.output.mkdir(parents=True)
    return measure(side.command, environment, side.output)


def _step(what: str, done: Measurement, stage: Stage) -> None:
    """Say on the terminal what was done."""
    call = f", call {done.report['seconds']:.2f} s" if "seconds" in done.report else ""
    logger.info("  %-9s %-48s %8.2f s%s, peak %.2f GB", stage.name, what, done.wall, call, done.peak / 1e9)
