"""One run at a time writes the results, and every job runs once at a time, whichever process asks."""

import errno
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from beirflow.core import disks
from beirflow.core.errors import LockError
from beirflow.run import results_lock as module
from beirflow.run.results_lock import LOCK, RUN, begin_run, check_run, hold_job, living_run

PACKAGE_PATH = str(Path(module.__file__).parents[2])
BEGIN, HOLD = "begin_run(logs)", "print(hold_job(logs, 'encode/a/b'), flush=True)"
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture(autouse=True)
def _no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN, "")
    monkeypatch.delenv(RUN)
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(module, "ASK_AGAIN_SECONDS", 0.01)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts another process that does something with the lock, says so, and lives until it is killed."""
    started: list[subprocess.Popen[str]] = []

    def start_one(does: str, **environment: str) -> subprocess.Popen[str]:
        program = (
            "import sys\nfrom pathlib import Path\nfrom beirflow.run.results_lock import *\n"
            f"logs = Path({str(tmp_path / 'logs')!r})\n{does}\nprint('done', flush=True)\nsys.stdin.read()\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONPATH": PACKAGE_PATH} | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start_one
    for process in started:
        process.kill()
        process.communicate()


def line(process: subprocess.Popen[str]) -> str:
    return process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()


def test_a_second_run_is_refused_and_told_who_runs_until_the_first_has_ended(tmp_path: Path, start: Start) -> None:
    first = start(BEGIN)
    assert line(first) == "done"
    with pytest.raises(LockError, match=rf"process {first.pid} on .*, in .* writes these results; wait .*--config results="):
        begin_run(tmp_path / "logs")
    assert RUN not in os.environ
    assert f"process {first.pid} on " in str(living_run(tmp_path / "logs"))
    end(first)
    assert living_run(tmp_path / "logs") is living_run(tmp_path / "none") is None
    begin_run(tmp_path / "logs")
    assert json.loads((tmp_path / "logs" / LOCK).read_text())["run"] == os.environ[RUN]


def test_a_run_is_refused_while_a_job_of_a_former_one_lives_which_stays_valid(tmp_path: Path, start: Start) -> None:
    former = start(BEGIN)
    assert line(former) == "done"
    end(former)
    run = json.loads((tmp_path / "logs" / LOCK).read_text())["run"]
    job = start(HOLD, **{RUN: run})
    assert line(job) == "False"
    with pytest.raises(LockError, match=rf"jobs of a run since .*process {former.pid}.* still write .*scancel --name"):
        begin_run(tmp_path / "logs")
    late = start("hold_job(logs, 'encode/a/c')", **{RUN: run})
    assert line(late) == "done"
    end(job)
    end(late)
    begin_run(tmp_path / "logs")


def test_a_job_of_a_former_run_ends_when_another_has_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_run(tmp_path / "logs")
    check_run(tmp_path / "logs")
    hold_job(tmp_path / "logs", "encode/a/b")
    monkeypatch.setenv(RUN, "of an earlier run")
    for check in (check_run, lambda logs: hold_job(logs, "encode/a/b")):
        with pytest.raises(LockError, match=rf"process {os.getpid()} .* took these results over .* changed nothing"):
            check(tmp_path / "logs")


def test_a_job_waits_for_its_other_instance(tmp_path: Path, start: Start, caplog: pytest.LogCaptureFixture) -> None:
    other = start(HOLD)
    assert line(other) == "False"
    assert not hold_job(tmp_path / "logs", "encode/a/c")
    mine = start(HOLD)
    with pytest.raises(subprocess.TimeoutExpired):
        mine.wait(1)
    other.kill()
    assert line(mine) == "True"
    mine.kill()
    assert "waits at" in mine.communicate()[1]


NO_LOCKS = [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS]
"""Errors of a server without its lock service, of a disk that knows no locks, and of Lustre without ``flock``."""


@pytest.mark.parametrize("number", NO_LOCKS, ids=errno.errorcode.get)
@pytest.mark.parametrize("known", [False, True], ids=["nowhere", "on another node"])
def test_a_disk_without_locks_is_a_warning_and_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int, known: bool
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    if known:
        begin_run(tmp_path / "logs")
    monkeypatch.setattr(module.fcntl, "lockf", no_locks)
    if not known:
        begin_run(tmp_path / "logs")
        assert "take care that no other run writes these results" in caplog.text
        assert os.strerror(number) in caplog.text
    caplog.clear()
    assert not hold_job(tmp_path / "logs", "encode/a/b")
    warned = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert bool(warned) == known, "the run has said it where it had no lock either"
    assert "a second instance of this job cannot be detected" in caplog.text or not known
    if known:
        monkeypatch.setenv(RUN, "of an earlier run")
        with pytest.raises(LockError, match="changed nothing"):
            hold_job(tmp_path / "logs", "encode/a/b")


@pytest.mark.parametrize("option", ["nolock", "local_lock=all", "localflock", ""])
def test_locks_that_other_machines_do_not_see_are_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, option: str
) -> None:
    device = tmp_path.stat().st_dev
    where = f"{os.major(device)}:{os.minor(device)} / {tmp_path} rw,relatime"
    options = f"rw,vers=3,{option},local_lock=flock" if option else "rw,vers=4.2,local_lock=none"
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"22 27 0:1 / /proc rw - proc proc rw,nolock\n36 35 {where} shared:1 - nfs server:/x {options}\n")
    monkeypatch.setattr(disks, "MOUNTS", mounts)
    begin_run(tmp_path / "logs")
    assert (f"mounted with {option}, so that its locks hold on this machine alone" in caplog.text) == bool(option)
