"""Run one command in a fresh process, and say how long it took and how much memory it had."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.settings import REPOSITORY
from bench.stage import Quantity

MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024


class ChildFailedError(Exception):
    """A child ended with an error; the message ends with the last lines that it wrote."""


@dataclass(frozen=True)
class Measurement:
    """One run of one side.

    Attributes:
        wall: Seconds from start to end of the process.
        cpu: Seconds of processor time, all cores and descendants together.
        peak: Largest resident set of the process, or of the largest of its descendants, in bytes.
        report: What the child itself said, e.g. ``seconds`` of the call and ``growth``, bytes above those of its imports.
    """

    wall: float
    cpu: float
    peak: int
    report: Mapping[str, Any]

    def value(self, quantity: Quantity, clock: str) -> float:
        """One of the quantities that are compared; ``clock`` is that of the stage."""
        if quantity == "growth":
            return float(self.report["growth"])
        if quantity == "memory":
            return float(self.peak)
        return float(self.report["seconds"]) if clock == "call" else self.wall


def measure(command: Sequence[str], environment: Mapping[str, str], log: Path) -> Measurement:
    """Run a command to its end.

    The kernel counts what this process held at the fork as memory of the child, so this process must stay small: it imports
    neither numpy nor torch, and inputs are made and checked by children as well.

    Args:
        command: Program and arguments.
        environment: All environment variables of the child.
        log: Where its output goes, with a suffix: standard output to ``.out``, standard error to ``.err``.

    Returns:
        Time, memory and report.

    Raises:
        ChildFailedError: The child ended with a status that is not 0.
    """
    out, err = log.with_suffix(".out"), log.with_suffix(".err")
    with out.open("wb") as to_out, err.open("wb") as to_err:
        start = time.perf_counter()
        child = subprocess.Popen(command, cwd=REPOSITORY, env=dict(environment), stdout=to_out, stderr=to_err)
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            raise
        wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        lines = (out.read_text(errors="replace") + err.read_text(errors="replace")).splitlines()
        raise ChildFailedError(f"{' '.join(command)} ended with {child.returncode}:\n" + "\n".join(lines[-15:]))
    cpu = usage.ru_utime + usage.ru_stime
    return Measurement(wall, cpu, usage.ru_maxrss * MAXRSS_BYTES, _report(out.read_text(errors="replace")))


def _report(output: str) -> Mapping[str, Any]:
    """The JSON object in the last line that a child wrote, if there is one."""
    last = output.rstrip().rpartition("\n")[2]
    return json.loads(last) if last.startswith("{") else {}
