"""Repeat a SLURM command while waiting helps: the controller is unreachable, or a user has too many jobs.

It stands before the command of the same name, see :mod:`beirflow.jobs.slurm_host`, and imports nothing that is slow.
"""

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
"""Of an association or a QOS: too many jobs, not too large ones."""

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
    start, reported, attempt = time.monotonic(), -REPORT_SECONDS, 0
    while True:
        done = subprocess.run([command, *arguments], input=script, capture_output=True, check=False)  # noqa: S603
        says = done.stderr.decode(errors="replace").strip()
        advice = ""
        if done.returncode and FULL.search(says):
            if _has_jobs():
                why = "the cluster lets you submit no more for now"
            else:
                why, advice = (
                    "",
                    "; these are more jobs at once than you may submit: lower slurm-array-limit and jobs in the profile",
                )
        else:
            why = "SLURM does not answer" if AWAY.search(says) and time.monotonic() - start < AWAY_SECONDS else ""
        if not done.returncode or not why:
            sys.stdout.buffer.write(done.stdout)
            sys.stderr.write(f"{says}{advice}\n" if says else "")
            return done.returncode
        if time.monotonic() - reported >= REPORT_SECONDS:
            reported = time.monotonic()
            _tell(f"{Path(command).name}: {why}, so it is repeated until it succeeds ({says.splitlines()[-1]})")
        time.sleep(PAUSES_SECONDS[min(attempt, len(PAUSES_SECONDS) - 1)])
        attempt += 1


def _has_jobs() -> bool:
    """Whether this user has a job in the queue, whose end makes room; also where SLURM does not say."""
    done = subprocess.run(["squeue", "--me", "--noheader"], capture_output=True, check=False)  # noqa: S607
    return bool(done.returncode or done.stdout.strip())


def _tell(message: str) -> None:
    """Write a line where people see it."""
    with suppress(OSError), Path(os.environ.get(TERMINAL, os.devnull)).open("a", encoding="utf-8") as terminal:
        terminal.write(f"{time.strftime('%T')} {message}\n")
