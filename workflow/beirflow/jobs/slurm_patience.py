"""Repeat a SLURM command while waiting helps: the controller is unreachable, or a user has too many jobs.

It stands before the command of the same name, see :mod:`beirflow.jobs.slurm_host`, and imports nothing that is slow.
"""

import itertools
import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

TERMINAL = "BEIRFLOW_TERMINAL"
"""The environment variable that names the standard error of the submitting process; nobody sees that of this one."""

AWAY = re.compile(
    r"Unable to contact slurm controller|Socket timed out|Zero Bytes were transmitted|Connection refused|Connection reset"
    r"|unable to connect|temporarily unable to accept job|Resource temporarily unavailable|[Cc]ommunication connection failure"
    r"|backup controller in standby|Transport endpoint|Slurm controller not responding",
    re.IGNORECASE,
)
FULL = re.compile(r"MaxSubmitJob")
"""Limit of an association or a QOS: too many jobs, not too large ones."""

ADVICE = "; these are more jobs at once than you may submit: lower slurm-array-limit and jobs in the profile"

AWAY_SECONDS = 3600.0
PAUSES_SECONDS = (1.0, 5.0, 15.0, 30.0)
"""Before the next calls; the last of them again and again."""

REPORT_SECONDS = 300.0


def main() -> None:
    """Call the command whose path and arguments this process got, until it succeeds or waiting does not help."""
    sys.exit(call(*sys.argv[1:]))


def call(command: str, *arguments: str) -> int:
    """Call a command of SLURM with patience.

    Args:
        command: Its path.
        *arguments: Its arguments.

    Returns:
        Its exit status; what it printed at last has been printed.
    """
    script = sys.stdin.buffer.read() if "/dev/stdin" in arguments else b""
    start, reported = time.monotonic(), -REPORT_SECONDS
    for attempt in itertools.count():
        done = subprocess.run([command, *arguments], input=script, capture_output=True, check=False)  # noqa: S603
        message = done.stderr.decode(errors="replace").strip()
        reason = _reason_to_wait(message, time.monotonic() - start) if done.returncode else ""
        if not reason:
            break
        if time.monotonic() - reported >= REPORT_SECONDS:
            reported = time.monotonic()
            _tell(f"{Path(command).name}: {reason}, so it is repeated until it succeeds ({message.splitlines()[-1]})")
        time.sleep(PAUSES_SECONDS[min(attempt, len(PAUSES_SECONDS) - 1)])
    sys.stdout.buffer.write(done.stdout)
    if message:
        sys.stderr.write(f"{message}{ADVICE if FULL.search(message) else ''}\n")
    return done.returncode


def _reason_to_wait(message: str, elapsed: float) -> str:
    """Return why a failed command is repeated; empty if waiting does not help."""
    if FULL.search(message):
        return "the cluster lets you submit no more for now" if _has_jobs() else ""
    return "SLURM does not answer" if AWAY.search(message) and elapsed < AWAY_SECONDS else ""


def _has_jobs() -> bool:
    """Test whether this user has a job in the queue, whose end makes room; True if SLURM does not answer."""
    done = subprocess.run(["squeue", "--me", "--noheader"], capture_output=True, check=False)  # noqa: S607
    return bool(done.returncode or done.stdout.strip())


def _tell(message: str) -> None:
    """Write a line where people see it."""
    with suppress(OSError), Path(os.environ.get(TERMINAL, os.devnull)).open("a", encoding="utf-8") as terminal:
        terminal.write(f"{time.strftime('%T')} {message}\n")
