"""The SLURM host's extra duties: tell why jobs wait, and survive an unreachable controller.

snakemake-executor-plugin-slurm 2.8.0 asks the controller for MinJobAge before it asks for the states of jobs. Without an answer
it asks sacct instead of squeue. sacct does not name the tasks of an array, so waiting and running tasks count as ended. The
plugin also calls sbatch and sinfo once, without a pause before the next attempt, and does not recognise "CANCELLED by 1000"
from sacct as cancelled, so it waits for such a job for ever.
"""

import atexit
import logging
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from beirflow.jobs.slurm_patience import TERMINAL

logger = logging.getLogger(__name__)

PLUGIN = "snakemake_executor_plugin_slurm"
PATIENT = ("sbatch", "sinfo")
"""Commands that are called through :mod:`beirflow.jobs.slurm_patience`."""

LOOK_SECONDS = 60.0
PASSES = {"None", "Priority", "Resources", "BeginTime", "Dependency", "Prolog", "Reservation", "Cleaning", "JobArrayTaskLimit"}
"""Reasons to wait that pass by themselves."""

Ask = Callable[[str, Any], Awaitable[tuple[dict[str, str] | None, float | None]]]

WAITING = ("squeue", "--me", "--noheader", "--states=PENDING", "--format=%i|%r|%Z")


def stand_by_slurm() -> None:
    """Prepare this process, which submits jobs to SLURM; nothing happens where there is no SLURM or another plugin submits."""
    plugin: Any = sys.modules.get(PLUGIN)
    if plugin is None or shutil.which("sbatch") is None:
        return
    plugin.get_min_job_age = remembering(plugin.get_min_job_age)
    plugin.get_min_job_age()
    plugin.query_job_status = in_one_word(plugin.query_job_status)
    _call_with_patience()
    threading.Thread(target=_say_why_jobs_wait, daemon=True).start()


def remembering(ask: Callable[[], int | None]) -> Callable[[], int | None]:
    """A function that gives the last answer there was, where there is none now.

    Args:
        ask: Gives None for no answer.

    Returns:
        The function.
    """
    known: int | None = None

    def answer() -> int | None:
        nonlocal known
        found = ask()
        known = known if found is None else found
        return known

    return answer


def in_one_word(ask: Ask) -> Ask:
    """A function that gives states without what sacct says behind them.

    Args:
        ask: Gives the states of jobs by their ids, or None, and how long that took.

    Returns:
        The function.
    """

    async def answer(command: str, logger: Any) -> tuple[dict[str, str] | None, float | None]:
        states, seconds = await ask(command, logger)
        return states and {job: state.partition(" ")[0] for job, state in states.items()}, seconds

    return answer


def _call_with_patience() -> None:
    """Put commands of the same names before those of SLURM, for what this process starts."""
    folder = Path(tempfile.mkdtemp(prefix="beirflow-slurm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    package = str(Path(__file__).parents[2])
    code = f"import sys; sys.path.insert(0, {package!r}); from beirflow.jobs.slurm_patience import main; main()"
    for name in PATIENT:
        if real := shutil.which(name):
            words = shlex.join([sys.executable, "-c", code, real])
            (folder / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
            (folder / name).chmod(0o755)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"
    os.environ[TERMINAL] = f"/proc/{os.getpid()}/fd/2"


def _say_why_jobs_wait() -> None:
    """Look now and then, and say every reason once."""
    said: set[str] = set()
    pause = threading.Event()
    while not pause.wait(LOOK_SECONDS):
        for reason, jobs in waiting_jobs(str(Path.cwd())).items():
            if reason not in said:
                said.add(reason)
                shown = ", ".join(jobs[:5]) + (f" and {len(jobs) - 5} others" if len(jobs) > 5 else "")
                todo = (
                    "compare the request of its rule in the profile with `scontrol show partition` and `sacctmgr show qos,assoc`"
                )
                logger.warning(
                    "SLURM keeps jobs waiting for reasons that may not pass by themselves, %s: %s; %s", reason, shown, todo
                )


def waiting_jobs(folder: str) -> Mapping[str, list[str]]:
    """Jobs of a working folder that wait for something that does not pass by itself.

    Args:
        folder: Where they were submitted.

    Returns:
        SLURM's ids of the jobs by its reason; none where SLURM does not answer.
    """
    found: dict[str, list[str]] = defaultdict(list)
    try:
        done = subprocess.run(WAITING, capture_output=True, text=True, timeout=60, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return {}
    for line in done.stdout.splitlines():
        job, _, rest = line.partition("|")
        reason, _, where = rest.partition("|")
        if where == folder and reason not in PASSES:
            found[reason].append(job)
    return found
