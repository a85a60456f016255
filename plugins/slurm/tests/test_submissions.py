"""Submissions to SLURM that are repeated: in the place of the plugin, something that answers as it does."""

import itertools
import logging
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import snakemake_executor_plugin_slurm as plugin

from snakemake_executor_plugin_beirflow_slurm import submissions as module
from snakemake_executor_plugin_beirflow_slurm.submissions import RepeatedSubmissions

AWAY = "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)"
FULL = """sbatch: error: AssocMaxSubmitJobLimit
sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, size and/or time limits)"""
MISTAKE = "sbatch: error: invalid partition specified: x"


class Plugin:
    """Submits jobs as the plugin does; SLURM refuses the first of them for a reason."""

    def __init__(self, workflow: Any, logger: logging.Logger) -> None:
        self.logger, self.refuse = logger, workflow
        self.submitted: list[str] = []
        self.failed: list[tuple[str, str]] = []
        self.attempts = 0

    def run_job(self, job: str) -> None:
        self.attempts += 1
        if message := self.refuse(self.attempts, job):
            self._report_job_error_threadsafe(
                SimpleNamespace(job=job), f"SLURM sbatch failed. The error message was '{message}'."
            )
        else:
            self.submitted.append(job)

    def run_array_jobs(self, jobs: list[str]) -> None:
        self.attempts += 1
        for job in jobs:
            if message := self.refuse(self.attempts, job):
                self.logger.error(f"SLURM sbatch failed for array job submission. The error message was '{message}'.")
                self._report_job_error_threadsafe(SimpleNamespace(job=job), "Part of failed array sbatch submission; see log.")
            else:
                self.submitted.append(job)

    def _report_job_error_threadsafe(self, job_info: Any, msg: str) -> None:
        self.failed.append((job_info.job, msg))

    def cancel(self) -> None:
        pass


class Executor(RepeatedSubmissions, Plugin):
    """As it is put together in a run."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSES_SECONDS", (0.01,))
    monkeypatch.setattr(module, "_has_jobs", lambda: True)


def executor(refuse: Callable[[int, str], str]) -> tuple[Executor, list[str]]:
    logged: list[str] = []
    logger = logging.Logger("snakemake.like", logging.INFO)
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())
    logger.addHandler(handler)
    return Executor(refuse, logger), logged


@pytest.mark.parametrize("message", [AWAY, FULL], ids=["the controller is away", "too many jobs"])
def test_what_waiting_helps_against_is_waited_for_and_said_once(message: str) -> None:
    slurm, logged = executor(lambda attempt, job: message if attempt <= 3 else "")
    slurm.run_job("a")
    assert (slurm.submitted, slurm.failed, slurm.attempts) == (["a"], [], 4)
    (line,) = logged
    assert line.startswith("sbatch: ")
    assert "so it is repeated until it succeeds" in line
    assert message.splitlines()[0] in line


def test_of_arrays_only_those_are_submitted_again_that_were_refused() -> None:
    slurm, logged = executor(lambda attempt, job: AWAY if attempt == 1 and job in "bd" else "")
    slurm.run_array_jobs(list("abcd"))
    assert (slurm.submitted, slurm.failed, len(logged)) == (["a", "c", "b", "d"], [], 1)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (MISTAKE, "invalid partition specified: x"),
        (FULL, "more jobs at once than you may submit: lower beirflow-slurm-array-limit"),
        (AWAY, "Unable to contact slurm controller"),
    ],
    ids=["a mistake", "more than one may ever submit", "a controller that stays away"],
)
def test_other_failures_are_reported_at_once(message: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_has_jobs", lambda: False)
    monkeypatch.setattr(module, "AWAY_SECONDS", 0.0)
    slurm, logged = executor(lambda attempt, job: message)
    slurm.run_job("a")
    ((job, text),) = slurm.failed
    assert (job, slurm.attempts, logged) == ("a", 1, [])
    assert message in text
    assert expected in text
    slurm, logged = executor(lambda attempt, job: message)
    slurm.run_array_jobs(["a"])
    assert expected in f"{logged} {slurm.failed}"
    assert [message in line for line in logged] == [True]


def test_a_run_that_is_cancelled_submits_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSES_SECONDS", (60.0,))
    slurm, _ = executor(lambda attempt, job: AWAY)
    thread = threading.Thread(target=slurm.run_job, args=["a"])
    thread.start()
    slurm.cancel()
    thread.join(30)
    assert not thread.is_alive()
    assert slurm.failed[0][0] == "a"


def test_errors_of_other_threads_are_logged_meanwhile() -> None:
    def refuse(attempt: int, job: str) -> str:
        other = threading.Thread(target=slurm.logger.error, args=["of another thread"])
        other.start()
        other.join()
        return ""

    slurm, logged = executor(refuse)
    slurm.run_job("a")
    assert logged == ["of another thread"]


def test_jobs_of_a_rule_are_an_array_where_they_ask_for_the_same_and_none_is_kept_back() -> None:
    numbers = itertools.count()

    def job(name: str, memory: int, *, group: bool = False) -> Any:
        rule, request = SimpleNamespace(name=name), {"mem_mb": memory}
        return SimpleNamespace(name=name, rule=rule, jobid=next(numbers), resources=request, is_group=lambda: group)

    jobs = [job("index", 1), job("merge", 2), job("index", 1), job("index", 3), job("search", 4), job("merge", 2, group=True)]
    by_plugin, ours = Mock(spec=plugin.Executor), Mock(spec=plugin.Executor)
    for each in (by_plugin, ours):
        each.configure_mock(logger=Mock(), array_jobs={"index", "search"}, max_array_size=25, _main_event_loop=None)
        each.workflow = SimpleNamespace(dag=SimpleNamespace(ready_jobs=[*jobs, job("search", 4)]))
    plugin.Executor.run_jobs(by_plugin, jobs)
    dropped = [jobs[4]]  # while another one of its rule is ready, which the limit of jobs keeps back
    assert dropped[0] not in [call.args[0] for call in by_plugin._submit_job.mock_calls], "the plugin no longer has this fault"
    assert [len(call.args[0]) for call in by_plugin._submit_array_jobs.mock_calls] == [3], "of which one asks for more"
    RepeatedSubmissions.run_jobs(ours, jobs)
    assert [call.args[0] for call in ours._submit_array_jobs.mock_calls] == [[jobs[0], jobs[2]]]
    assert [call.args[0] for call in ours._submit_job.mock_calls] == [jobs[1], jobs[3], jobs[4], jobs[5]]
