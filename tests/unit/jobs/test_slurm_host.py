"""The host that submits to SLURM: the plugin that is really used, with scripts in the place of SLURM's commands."""

import asyncio
import logging
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from beirflow.jobs import slurm_host as module
from beirflow.jobs.slurm_host import remembering, stand_by_slurm, waiting_jobs

plugin: Any = pytest.importorskip("snakemake_executor_plugin_slurm")

COMMANDS = {
    "scontrol": 'test -e {folder}/away && exit 1; echo "MinJobAge = 300 sec"',
    "squeue": 'test -e {folder}/away && exit 1; echo "7_1|PENDING"; echo "7_2|COMPLETED"',
    "sacct": 'echo "7|COMPLETED"',
    "sbatch": "echo 8",
    "sinfo": "echo main*",
}


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of commands; a file `away` in it makes the controller give no answer."""
    for name, does in COMMANDS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does.format(folder=tmp_path)}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv(module.TERMINAL, "")
    for name in ("get_min_job_age", "query_job_status"):
        monkeypatch.setattr(plugin, name, getattr(plugin, name))
    return tmp_path


def ended_tasks(command: str = "squeue") -> list[str]:
    """Tasks of an array, one waiting and one that ended, that the plugin takes for ended."""
    ended: list[str] = []

    class Limiter:
        async def __aenter__(self) -> None: ...
        async def __aexit__(self, *_: object) -> None: ...

    settings = SimpleNamespace(
        init_seconds_before_status_checks=20, status_attempts=1, status_command=command, keep_successful_logs=True
    )
    executor = SimpleNamespace(
        workflow=SimpleNamespace(executor_settings=settings),
        logger=logging.getLogger("plugin"),
        get_status_command=lambda: command,
        run_uuid="run",
        status_rate_limiter=Limiter(),
        next_seconds_between_status_checks=20,
        _status_query_calls=0,
        _status_query_failures=0,
        _status_query_total_seconds=0.0,
        _status_query_min_seconds=None,
        _status_query_max_seconds=0.0,
        _status_query_cycle_rows=[],
        _preemption_warning=False,
        report_job_success=lambda job: ended.append(job.external_jobid),
        report_job_error=lambda job, **_: ended.append(f"{job.external_jobid} failed"),
    )
    jobs = [SimpleNamespace(external_jobid=name, aux={}) for name in ("7_1", "7_2")]

    async def ask() -> None:
        async for _ in plugin.Executor.check_active_jobs(executor, jobs):
            pass

    asyncio.run(ask())
    return ended


def test_a_job_that_sacct_calls_cancelled_by_somebody_has_failed(slurm: Path) -> None:
    (slurm / "sacct").write_text('#!/bin/sh\necho "7_1|RUNNING"; echo "7_2|CANCELLED by 1000"\n')
    assert ended_tasks("sacct") == [], "the plugin no longer has the fault that stand_by_slurm works around"
    stand_by_slurm()
    assert ended_tasks("sacct") == ["7_2 failed"]


def test_a_task_that_waits_is_not_taken_for_ended_while_the_controller_is_away(slurm: Path) -> None:
    assert ended_tasks() == ["7_2"]
    (slurm / "away").touch()
    assert ended_tasks() == ["7_1", "7_2"], "the plugin no longer has the fault that stand_by_slurm works around"
    (slurm / "away").unlink()
    stand_by_slurm()
    (slurm / "away").touch()
    assert ended_tasks() == []
    (slurm / "away").unlink()
    assert ended_tasks() == ["7_2"]


def test_the_last_answer_is_remembered_and_the_next_one_counts() -> None:
    answers: list[int | None] = [None, 300, None, 0, None]
    ask = remembering(iter(answers).__next__)
    assert [ask() for _ in answers] == [None, 300, 300, 0, 0]


def test_commands_are_called_with_patience_and_get_what_they_were_given(slurm: Path) -> None:
    stand_by_slurm()
    for command, printed in (("sbatch --wrap 'a b'", "8\n"), ("sinfo -o %P", "main*\n")):
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)  # noqa: S602 -- as the plugin does
        assert done.stdout == printed
    found = subprocess.run("command -v sbatch", shell=True, capture_output=True, text=True, check=True)  # noqa: S602
    assert not found.stdout.startswith(str(slurm))


def test_jobs_of_this_folder_that_wait_for_what_does_not_pass_are_found(slurm: Path) -> None:
    lines = (
        "1|Priority|/here",
        "2_[3-4]|PartitionTimeLimit|/here",
        "5|PartitionTimeLimit|/here",
        "6|QOSMaxWall|/else",
        "7|Resources|/here",
    )
    (slurm / "squeue").write_text("#!/bin/sh\ncat <<E\n" + "\n".join(lines) + "\nE\n")
    assert waiting_jobs("/here") == {"PartitionTimeLimit": ["2_[3-4]", "5"]}
    (slurm / "squeue").write_text("#!/bin/sh\nexit 1\n")
    assert waiting_jobs("/here") == {}


def test_why_jobs_wait_is_said_once(slurm: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    (slurm / "squeue").write_text(f"#!/bin/sh\necho '5|PartitionTimeLimit|{Path.cwd()}'\n")
    turns = iter([False, False, True])
    monkeypatch.setattr(module.threading, "Event", lambda: SimpleNamespace(wait=lambda _: next(turns)))
    module._say_why_jobs_wait()
    (record,) = caplog.records
    assert "PartitionTimeLimit: 5" in record.getMessage()
    assert "in the profile" in record.getMessage()
