"""Submissions that are repeated while waiting helps, and arrays of jobs that ask for the same.

snakemake-executor-plugin-slurm 2.8.0 submits a job once, and reports every failure as one of the job: also that the controller
is unreachable (its issue 313), or that a user has too many jobs (320). Here such failures are held back and the jobs submitted
again. It gives all tasks of an array what the first one asks for, and drops ready jobs while it waits for others of their rule
(473). Unnecessary once that plug-in does otherwise.
"""

import itertools
import logging
import re
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from .upstream_methods import has_method

AWAY = re.compile(
    r"Unable to contact slurm controller|Socket timed out|Zero Bytes were transmitted|Connection refused|Connection reset"
    r"|unable to connect|temporarily unable to accept job|Resource temporarily unavailable|[Cc]ommunication connection failure"
    r"|backup controller in standby|Transport endpoint|Slurm controller not responding",
    re.IGNORECASE,
)
FULL = re.compile(r"MaxSubmitJob")  # limit of an association or a QOS: too many jobs, not too large ones

ADVICE = "; these are more jobs at once than you may submit: lower beirflow-slurm-array-limit and jobs in the profile"

AWAY_SECONDS = 3600.0
PAUSES_SECONDS = (1.0, 5.0, 15.0, 30.0)  # before the next attempts; the last of them again and again

REPORT_SECONDS = 300.0


class _Attempt(threading.local):
    """Failures of the submission that a thread attempts: errors that were logged, and jobs that were reported."""

    def __init__(self) -> None:
        self.runs = False
        self.records: list[logging.LogRecord] = []
        self.jobs: list[tuple[Any, str]] = []

    def begin(self) -> None:
        """Hold back what is logged and reported from now on."""
        self.runs, self.records, self.jobs = True, [], []

    def passes(self, record: logging.LogRecord) -> bool:
        """Hold back an error during an attempt; let other records pass. A filter of Snakemake's logger."""
        held = self.runs and record.levelno >= logging.ERROR
        if held:
            self.records.append(record)
        return not held


class RepeatedSubmissions:
    """Base class to be put before the plug-in's ``Executor``."""

    WITHOUT = "a job that SLURM refuses has failed, also if the controller does not answer or you have too many jobs"

    @staticmethod
    def fits(plugin: type) -> bool:
        """Test whether the plug-in submits jobs, and reports those that were refused, by the methods that are extended here."""
        reports = "_report_job_error_threadsafe"
        return (
            has_method(plugin, "run_jobs", "jobs", "array_jobs", "_submit_job", "_submit_array_jobs")
            and has_method(plugin, "run_job", "job", reports)
            and has_method(plugin, "run_array_jobs", "jobs", reports)
            and has_method(plugin, reports, "job_info msg")
            and has_method(plugin, "cancel")
        )

    def __init__(self, workflow: Any, logger: logging.Logger) -> None:
        self._attempt, self._cancelled = _Attempt(), threading.Event()
        logger.addFilter(self._attempt.passes)
        super().__init__(workflow, logger)  # type: ignore[call-arg]

    def cancel(self) -> None:
        """Cancel all jobs, and repeat no submission."""
        self._cancelled.set()
        super().cancel()  # type: ignore[misc]

    def run_jobs(self, jobs: list[Any]) -> None:
        """Submit jobs; those of a rule that may be an array, and that ask for the same, as one."""
        alike: dict[tuple[str, str], list[Any]] = defaultdict(list)
        for job in jobs:
            single = job.is_group() or self.array_jobs.isdisjoint({"all", job.name})  # type: ignore[attr-defined]
            alike[job.name, str(job.jobid if single else sorted(job.resources.items()))].append(job)
        for same in alike.values():
            if len(same) > 1:
                self._submit_array_jobs(same)  # type: ignore[attr-defined]
            else:
                self._submit_job(same[0])  # type: ignore[attr-defined]

    def run_job(self, job: Any) -> None:
        """Submit a job."""
        submit = super().run_job  # type: ignore[misc]
        self._submit([job], lambda jobs: submit(*jobs))

    def run_array_jobs(self, jobs: list[Any]) -> None:
        """Submit jobs of a rule, as arrays."""
        self._submit(jobs, super().run_array_jobs)  # type: ignore[misc]

    def _submit(self, jobs: list[Any], submit: Callable[[list[Any]], None]) -> None:
        """Submit jobs, and again those that SLURM refused for a reason that passes; report the others as failed."""
        start, reported = time.monotonic(), -REPORT_SECONDS
        for attempt in itertools.count():
            self._attempt.begin()
            try:
                submit(jobs)
            finally:
                self._attempt.runs = False
            records, failures = self._attempt.records, self._attempt.jobs
            message = "\n".join([*(record.getMessage() for record in records), *(text for _, text in failures)])
            reason = _reason_to_wait(message, time.monotonic() - start) if failures and not self._cancelled.is_set() else ""
            if not reason:
                break
            if time.monotonic() - reported >= REPORT_SECONDS:
                reported = time.monotonic()
                line = next(line for line in message.splitlines() if AWAY.search(line) or FULL.search(line))
                self.logger.warning(f"sbatch: {reason}, so it is repeated until it succeeds ({line.strip()})")  # type: ignore[attr-defined]
            self._cancelled.wait(PAUSES_SECONDS[min(attempt, len(PAUSES_SECONDS) - 1)])
            jobs = [submitted.job for submitted, _ in failures]
        for record in records:
            self.logger.handle(record)  # type: ignore[attr-defined]
        for submitted, text in failures:
            self._report_job_error_threadsafe(submitted, f"{text}{ADVICE if FULL.search(message) else ''}")

    def _report_job_error_threadsafe(self, job_info: Any, msg: str) -> None:
        """Report a job that could not be submitted, unless an attempt runs."""
        if self._attempt.runs:
            self._attempt.jobs.append((job_info, msg))
        else:
            super()._report_job_error_threadsafe(job_info, msg)  # type: ignore[misc]


def _reason_to_wait(message: str, elapsed: float) -> str:
    """Return why a failed submission is repeated; empty if waiting does not help."""
    if FULL.search(message):
        return "the cluster lets you submit no more for now" if _has_jobs() else ""
    return "SLURM does not answer" if AWAY.search(message) and elapsed < AWAY_SECONDS else ""


def _has_jobs() -> bool:
    """Test whether this user has a job in the queue, whose end makes room; True if SLURM does not answer."""
    try:
        done = subprocess.run(["squeue", "--me", "--noheader"], capture_output=True, check=True, timeout=60)  # noqa: S607
    except (OSError, subprocess.SubprocessError):
        return True
    return bool(done.stdout.strip())
