"""States of the jobs of a run until each has ended: ``check_active_jobs`` in place of the plug-in's.

snakemake-executor-plugin-slurm 2.8.0 forgets all jobs after five questions without an answer (its issue 207). It counts tasks
of an array as ended if sacct names only their array. It waits for ever for jobs that request more than a limit (456), and for
those that SLURM forgot, preempted, lost with their node, calls "CANCELLED by 1000", or names only as a range (``7_[2-4]``).
Unnecessary once that plug-in asks without a limit and knows all these states.

Jobs note themselves that they ended well, in a folder that all nodes share. SLURM is asked about those that do not.
"""

import asyncio
import logging
import os
import re
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from .array_task import FAILED as NOTED_FAILURE
from .job_start import note_of
from .upstream_methods import has_method

QUESTIONS = {
    "squeue": ("squeue", "--noheader", "--states=all", "--format=%i|%T|%r"),
    "sacct": (
        *("sacct", "--noheader", "--allocations", "--parsable2", "--format=JobID,State,Reason"),
        *("--clusters=all", "--starttime=now-2days"),
    ),
}
"""Commands that print id, state and reason of jobs, by the plug-in's setting ``status_command``."""

SETTINGS = ("init_seconds_before_status_checks", "keep_successful_logs")  # of the plug-in, which are used here too

ANSWER_SECONDS = 60.0  # time limit of a question

DOUBT_SECONDS = {"squeue": 20.0, "sacct": 600.0}
"""Time until a later answer confirms that a job will not run (again); longer for sacct, which lags behind."""

NOTES_SECONDS = 2.0  # pause between looks for notes

LONGEST_PAUSE_SECONDS = 180.0
"""Limit of the pause between questions; below the 300 seconds for which SLURM by default remembers a job that ended."""

FAILED = {"BOOT_FAIL", "CANCELLED", "DEADLINE", "FAILED", "OUT_OF_MEMORY", "TIMEOUT"}

REQUEUED = {"NODE_FAIL", "PREEMPTED"}
"""States that a job leaves at once if SLURM puts it back into the queue, and never otherwise."""

NEVER = re.compile(r"PerJob|Partition(Time|Node)Limit|BadConstraints")
"""Reasons to wait that last until the request or the limit is changed."""

PASSES = {"None", "Priority", "Resources", "BeginTime", "Dependency", "Prolog", "Reservation", "Cleaning", "JobArrayTaskLimit"}
"""Reasons to wait that pass by themselves."""

ADVICE = "compare the request of its rule in the profile with `scontrol show partition` and `sacctmgr show qos,assoc`"

TASKS = re.compile(r"(\d+)(?:-(\d+))?(?::(\d+))?")  # numbers of array tasks: first, last, step


class JobState(NamedTuple):
    """State of a job, such as PENDING, and SLURM's reason for it."""

    state: str
    reason: str = ""


NO_ANSWER = JobState("no answer")
FORGOTTEN = JobState("forgotten")  # state of a job that is missing in an answer


class JobWatch:
    """Observer of the jobs of a run, with what it has already reported and which jobs are in doubt."""

    def __init__(self) -> None:
        self._doubtful_since: dict[str, float] = {}
        self._reported: set[str] = set()
        self._unreachable = False
        self._pause = self._question_at = 0.0
        self._failures = 0

    async def check_active_jobs(self, executor: Any, jobs: Sequence[Any]) -> AsyncIterator[Any]:
        """Report the jobs that ended, as the interface of executors asks, and yield the others; all if SLURM does not answer."""
        executor.next_seconds_between_status_checks = NOTES_SECONDS
        first_pause = executor.workflow.executor_settings.init_seconds_before_status_checks
        notes = {path.name for path in Path(executor.tmpdir).iterdir()}
        silent = [job.external_jobid for job in jobs if note_of(job.job) not in notes]
        states = {job.external_jobid: JobState("COMPLETED") for job in jobs} | dict.fromkeys(silent, NO_ANSWER)
        pause = max(self._pause, first_pause) + 10
        if due := self._is_due(bool(silent), sum(name.endswith(NOTED_FAILURE) for name in notes), first_pause):
            states |= await asyncio.to_thread(self._ask, executor, silent)
        for job in jobs:
            known = states[job.external_jobid]
            if known.state == "COMPLETED":
                executor.report_job_success(job)
                if not executor.workflow.executor_settings.keep_successful_logs:
                    with suppress(OSError):
                        job.aux["slurm_logfile"].unlink()
            elif known.state in FAILED or (due and self._is_hopeless(executor, job.external_jobid, known)):
                _fail(executor, job, known)
            else:
                yield job
                continue
            if job.external_jobid in silent:
                pause = first_pause
        if due:
            self._wait(pause)

    def _is_due(self, silent: bool, failures: int, first_pause: float) -> bool:
        """Test whether SLURM is to be asked: after a pause, and soon after a job has noted that it failed."""
        if not silent:
            self._wait(first_pause)
        elif failures != self._failures:
            self._question_at = min(self._question_at, time.monotonic() + NOTES_SECONDS)
        self._failures = failures
        return silent and time.monotonic() >= self._question_at

    def _wait(self, seconds: float) -> None:
        """Put the next question off."""
        self._pause = min(seconds, LONGEST_PAUSE_SECONDS)
        self._question_at = time.monotonic() + self._pause

    def _ask(self, executor: Any, jobs: Sequence[str]) -> Mapping[str, JobState]:
        """Return the states of jobs; report once that SLURM does not answer."""
        command = [*QUESTIONS[_status_command(executor)], f"--name={executor.run_uuid}"]
        # By default, SLURM cuts the list of an array's tasks off after 64 characters.
        whole_lists = os.environ | {"SLURM_BITSTR_LEN": "0"}
        try:
            done = subprocess.run(  # noqa: S603
                command, capture_output=True, text=True, check=True, timeout=ANSWER_SECONDS, env=whole_lists
            )
        except (OSError, subprocess.SubprocessError) as error:
            if not self._unreachable:
                message = error.stderr.strip() if isinstance(error, subprocess.CalledProcessError) else error
                executor.logger.warning(f"SLURM does not answer, so its jobs are asked about again until it does ({message})")
            self._unreachable = True
            return dict.fromkeys(jobs, NO_ANSWER)
        self._unreachable = False
        named = parse_states(done.stdout)
        states = {job: named.get(job, FORGOTTEN) for job in jobs}
        self._report_waiting(executor, states)
        return states

    def _report_waiting(self, executor: Any, states: Mapping[str, JobState]) -> None:
        """Report once each reason to wait that may not pass by itself."""
        waiting = {job: known.reason for job, known in states.items() if known.state == "PENDING"}
        for reason in set(waiting.values()) - PASSES - self._reported:
            self._reported.add(reason)
            jobs = [job for job, why in waiting.items() if why == reason]
            shown = ", ".join(jobs[:5]) + (f" and {len(jobs) - 5} others" if len(jobs) > 5 else "")
            executor.logger.warning(
                f"SLURM keeps jobs waiting for reasons that may not pass by themselves, {reason}: {shown}; {ADVICE}"
            )

    def _is_hopeless(self, executor: Any, job: str, known: JobState) -> bool:
        """Test whether a job has been, for long enough, in a state in which SLURM neither runs nor ends it."""
        never_starts = known.state == "PENDING" and NEVER.search(known.reason)
        if not (never_starts or known.state in REQUEUED or known is FORGOTTEN):
            self._doubtful_since.pop(job, None)
            return False
        now = time.monotonic()
        return now - self._doubtful_since.setdefault(job, now) > DOUBT_SECONDS[_status_command(executor)]


class WatchedJobs:
    """Base class to be put before the plug-in's ``Executor``."""

    WITHOUT = "jobs count as ended while SLURM does not answer, and jobs that it forgot, lost or can never start are waited for"

    @staticmethod
    def fits(plugin: type) -> bool:
        """Test whether the plug-in names its jobs, their logs and the command for states as expected."""
        return has_method(plugin, "check_active_jobs", "active_jobs", "run_uuid", "slurm_logfile", *SETTINGS) and has_method(
            plugin, "get_status_command"
        )

    def __init__(self, workflow: Any, logger: logging.Logger) -> None:
        self._watch = JobWatch()  # first, because the plug-in's constructor starts the thread that asks for states
        super().__init__(workflow, logger)  # type: ignore[call-arg]
        _ = self.tmpdir  # type: ignore[attr-defined]  # makes the folder of the notes, before several threads do

    def check_active_jobs(self, active_jobs: Sequence[Any]) -> AsyncIterator[Any]:
        """Report the jobs that ended, and yield the others."""
        return self._watch.check_active_jobs(self, active_jobs)


def _status_command(executor: Any) -> str:
    """Return sacct if it is chosen and installed, else squeue; the plug-in warns if a chosen sacct is missing."""
    return "sacct" if executor.get_status_command() == "sacct" and shutil.which("sacct") else "squeue"


def _fail(executor: Any, job: Any, known: JobState) -> None:
    """Report a job that failed; cancel it if it still waits."""
    name = job.external_jobid
    message = f"SLURM-job '{name}' failed, SLURM status is: '{known.state}'. "
    if known.state == "PENDING":
        subprocess.run(["scancel", name], capture_output=True, check=False)  # noqa: S603, S607
        message = f"SLURM-job '{name}' could never start ({known.reason}) and was cancelled: {ADVICE}. "
    elif known is FORGOTTEN:
        message = (
            f"SLURM no longer knows job '{name}', so it counts as failed: it was cancelled while it waited, or the controller"
            " forgot it (too soon if its MinJobAge is short, see beirflow-slurm-status-command in the profile). "
        )
    executor.report_job_error(job, msg=message, aux_logs=[str(job.aux.get("slurm_logfile"))])


def parse_states(printed: str) -> dict[str, JobState]:
    """Return the state of every job and array task, by SLURM's ids, from an answer to one of ``QUESTIONS``.

    It has a line for each job, ``<id>|<state>|<reason>``; waiting tasks of an array share a line with an id such as
    ``7_[1,3-5%2]``.
    """
    states = {}
    for line in printed.splitlines():
        ids, _, rest = line.partition("|")
        state, _, reason = rest.partition("|")
        for job in _single_ids(ids):
            states[job] = JobState(state.partition(" ")[0], reason)  # sacct says "CANCELLED by 1000"
    return states


def _single_ids(ids: str) -> list[str]:
    """Return the id of each task of an array, or the only id."""
    array, _, tasks = ids.rstrip("]").partition("_[")
    if not tasks:
        return [ids]
    ranges = [match.groups() for part in tasks.partition("%")[0].split(",") if (match := TASKS.fullmatch(part))]
    return [f"{array}_{n}" for first, last, step in ranges for n in range(int(first), int(last or first) + 1, int(step or 1))]
