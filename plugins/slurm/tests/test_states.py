"""Following jobs on SLURM: scripts in place of its commands; the check of the plugin that is really used for comparison."""

import asyncio
import logging
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import snakemake_executor_plugin_slurm as plugin

from snakemake_executor_plugin_beirflow_slurm import states as module
from snakemake_executor_plugin_beirflow_slurm.states import JobWatch, parse_states

NO_NOTES = Path(__file__).parent

FAULT_IS_GONE = "the plugin no longer has the fault that JobWatch works around"


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of commands; squeue and sacct print the file `states`, and fail without one."""
    for name in ("squeue", "sacct"):
        write_command(tmp_path, name, f"/bin/cat {tmp_path}/states")
    write_command(tmp_path, "scontrol", "echo 'MinJobAge = 300 sec'")
    write_command(tmp_path, "sbatch", "echo 8")
    write_command(tmp_path, "scancel", f'echo "$@" >> {tmp_path}/cancelled')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(module, "DOUBT_SECONDS", {"squeue": 0.0, "sacct": 0.0})
    monkeypatch.setattr(module, "LONGEST_PAUSE_SECONDS", 0.0)
    return tmp_path


def write_command(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


class Submitter:
    """An executor with some jobs: what Snakemake waits for, and how the others ended."""

    def __init__(self, *jobs: str, command: str = "squeue", check: Any = None, notes: Path = NO_NOTES) -> None:
        self.check = check or JobWatch().check_active_jobs
        self.jobs = [SimpleNamespace(external_jobid=name, aux={}, job=SimpleNamespace(jobid=name, attempt=1)) for name in jobs]
        self.ended: dict[str, str] = {}
        settings = SimpleNamespace(
            init_seconds_before_status_checks=20, status_attempts=5, keep_successful_logs=True, requeue=True
        )
        self.executor = SimpleNamespace(
            workflow=SimpleNamespace(executor_settings=settings),
            logger=logging.getLogger("plugin"),
            get_status_command=lambda: command,
            run_uuid="run",
            tmpdir=notes,
            status_rate_limiter=asyncio.Lock(),
            next_seconds_between_status_checks=20,
            **{f"_status_query_{name}": 0 for name in ("calls", "failures", "total_seconds", "max_seconds")},
            _status_query_min_seconds=None,
            _status_query_cycle_rows=[],
            _preemption_warning=False,
            _failed_nodes=set(),
            report_job_success=lambda job: self.ended.update({job.external_jobid: "well"}),
            report_job_error=lambda job, msg, **_: self.ended.update({job.external_jobid: msg}),
        )

    def ask(self) -> list[str]:
        """Ask as Snakemake does, and return the ids of the jobs that it still waits for."""

        async def still_active() -> list[Any]:
            return [job async for job in self.check(self.executor, self.jobs)]

        self.jobs = asyncio.run(still_active())
        return [job.external_jobid for job in self.jobs]


def by_plugin(*jobs: str, command: str = "squeue") -> Submitter:
    return Submitter(*jobs, command=command, check=plugin.Executor.check_active_jobs)


def test_jobs_are_watched_while_slurm_does_not_answer(slurm: Path, caplog: pytest.LogCaptureFixture) -> None:
    forgetful = by_plugin("7_1", "8")
    assert (forgetful.ask(), forgetful.ended) == ([], {}), FAULT_IS_GONE
    patient = Submitter("7_1", "8")
    for _ in range(6):
        assert patient.ask() == ["7_1", "8"]
    (record,) = caplog.records
    assert "SLURM does not answer" in record.getMessage()
    assert "No such file" in record.getMessage()
    (slurm / "states").write_text("7_1|COMPLETED|None\n8|RUNNING|None\n")
    assert (patient.ask(), patient.ended) == (["8"], {"7_1": "well"})
    (slurm / "states").unlink()
    assert patient.ask() == ["8"]
    assert len(caplog.records) == 2, "another outage"


def test_slurm_is_asked_ever_later_unless_jobs_end_without_a_note_that_says_so(
    slurm: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, notes = 1000.0, tmp_path_factory.mktemp("notes")
    monkeypatch.setattr(module, "LONGEST_PAUSE_SECONDS", 180.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    write_command(slurm, "squeue", f"echo >> {slurm}/asked; /bin/cat {slurm}/states")
    (slurm / "states").write_text("7|RUNNING|None\n8|RUNNING|None\n9|RUNNING|None\n")
    watch = Submitter("7", "8", "9", notes=notes)

    def asked(seconds: int) -> list[int]:
        """After how many seconds it asks, if it looks as often as Snakemake lets it."""
        nonlocal now
        moments, until = [], now + seconds
        while now < until:
            before = (slurm / "asked").stat().st_size if (slurm / "asked").exists() else 0
            watch.ask()
            moments += [round(now - until + seconds)] if (slurm / "asked").stat().st_size > before else []
            now += watch.executor.next_seconds_between_status_checks
        return moments

    assert asked(1000) == [0, 30, 70, 120, 180, 250, 330, 420, 520, 630, 750, 880]
    (notes / "7-1").touch()
    assert asked(60) == [20], "a note is no reason to ask sooner"
    assert watch.ended == {"7": "well"}
    (notes / "8-1.failed").touch()
    (slurm / "states").write_text("8|FAILED|None\n9|RUNNING|None\n")
    assert asked(60) == [2, 22, 52]
    assert "'FAILED'" in watch.ended["8"]


def test_waiting_tasks_of_an_array_that_is_cancelled_have_failed(slurm: Path) -> None:
    (slurm / "states").write_text("7_[1,3-5]|CANCELLED|None\n")  # as SLURM 22.05 prints it
    assert by_plugin("7_1", "7_4").ask() == ["7_1", "7_4"], FAULT_IS_GONE
    watch = Submitter("7_1", "7_4")
    assert watch.ask() == []
    assert all("'CANCELLED'" in how for how in watch.ended.values())


@pytest.mark.parametrize("states", ["", "7|NODE_FAIL|NodeDown\n", "7|PREEMPTED|None\n"], ids=["forgotten", "lost", "preempted"])
def test_a_job_that_slurm_will_not_run_again_has_failed(slurm: Path, states: str) -> None:
    (slurm / "states").write_text(states)
    trusting = by_plugin("7")
    assert [trusting.ask(), trusting.ask()] == [["7"], ["7"]], FAULT_IS_GONE
    watch = Submitter("7")
    assert watch.ask() == ["7"], "it may be about to run again"
    assert watch.ask() == []
    assert "'7'" in watch.ended["7"]
    requeued = Submitter("7")
    for state in ("NODE_FAIL", "PENDING", "NODE_FAIL", "RUNNING"):
        (slurm / "states").write_text(f"7|{state}|None\n")
        assert requeued.ask() == ["7"], "SLURM has put it back into the queue"


def test_sacct_names_tasks_and_without_it_squeue_is_asked(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (slurm / "states").write_text("7_1|RUNNING|None\n7_2|CANCELLED by 1000|None\n7_[3-4]|PENDING|None\n")
    watch = Submitter("7_1", "7_2", "7_3", command="sacct")
    assert watch.ask() == ["7_1", "7_3"]
    assert "'CANCELLED'" in watch.ended["7_2"]
    monkeypatch.setenv("PATH", str(slurm))  # without the sacct of this machine
    (slurm / "sacct").unlink()
    (slurm / "states").write_text("7|COMPLETED|None\n")
    assert Submitter("7", command="sacct").ask() == []


@pytest.mark.parametrize(
    "reason", ["PartitionTimeLimit", "PartitionNodeLimit", "AssocMaxWallDurationPerJobLimit", "QOSMaxMemoryPerJob"]
)
def test_a_job_beyond_a_limit_is_cancelled_with_the_reason(slurm: Path, reason: str) -> None:
    (slurm / "states").write_text(f"7_[1-2]|PENDING|{reason}\n8|PENDING|QOSMaxJobsPerUserLimit\n")
    watch = Submitter("7_1", "7_2", "8")
    assert watch.ask() == ["7_1", "7_2", "8"]
    assert watch.ask() == ["8"]
    assert (slurm / "cancelled").read_text().split() == ["7_1", "7_2"]
    assert all(reason in how and "in the profile" in how for how in watch.ended.values())


def test_reasons_to_wait_that_may_not_pass_are_reported_once(slurm: Path, caplog: pytest.LogCaptureFixture) -> None:
    tasks = "1|PENDING|Priority\n2_[3-9]|PENDING|JobHeldUser\n3|RUNNING|None\n4|FAILED|NonZeroExitCode\n"
    (slurm / "states").write_text(tasks)
    watch = Submitter("1", *(f"2_{n}" for n in range(3, 10)), "3", "4")
    watch.ask()
    watch.ask()
    (record,) = caplog.records
    assert "JobHeldUser: 2_3, 2_4, 2_5, 2_6, 2_7 and 2 others" in record.getMessage()


TASKS = {
    "7": ["7"],
    "7_3": ["7_3"],
    "7_[1,3-5%2]": ["7_1", "7_3", "7_4", "7_5"],
    "7_[1-9:4,12]": ["7_1", "7_5", "7_9", "7_12"],
    "7_[1-2,...]": ["7_1", "7_2"],
}


def test_tasks_of_an_array_share_a_line() -> None:
    assert {name: list(parse_states(f"{name}|PENDING|Dependency\n")) for name in TASKS} == TASKS
