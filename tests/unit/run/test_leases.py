"""Many processes share GPUs: never more than allowed on one, never one idle while another is full, none kept by the dead."""

import os
import selectors
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path

import pytest

from beirflow.core.errors import DeviceError
from beirflow.run.gpus import Gpu, jobs_on, lock_folder
from fake_gpus import UUIDS, install_nvidia_smi

PACKAGE = str(Path(__file__).parents[3] / "src")

JOB = """
import logging, os, subprocess, sys, time
from beirflow.run import gpus as device_lease
from beirflow.run.gpus import list_gpus, visible_gpus
logging.basicConfig(level=logging.INFO)
device_lease.ASK_AGAIN_SECONDS = 0.02
if sys.argv[2] == "together":
    print("ready", flush=True)
    sys.stdin.readline()
gpus = visible_gpus(list_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES"))
gpu = device_lease.lease(dict(zip(gpus, map(int, sys.argv[1].split(",")))))
print(gpu.index, time.monotonic_ns(), flush=True)
if sys.argv[2] == "child":
    print(subprocess.Popen(["sleep", "60"], close_fds=False).pid, flush=True)
sys.stdin.readline()
print(time.monotonic_ns(), flush=True)
"""


class Machine:
    """Starts jobs that take a GPU and keep it until they are told to end; some wait before until they are told to begin."""

    def __init__(self, folder: Path) -> None:
        self.environment = {**os.environ, **install_nvidia_smi(folder), "PYTHONPATH": PACKAGE}
        self.environment.pop("CUDA_VISIBLE_DEVICES", None)
        self.jobs: list[subprocess.Popen[str]] = []

    def start(self, jobs_per_gpu: int | str = 1, keep: str = "until told", **environment: str) -> subprocess.Popen[str]:
        """Start a job; ``jobs_per_gpu`` is a number for all GPUs, or one for each."""
        most = jobs_per_gpu if isinstance(jobs_per_gpu, str) else ",".join([str(jobs_per_gpu)] * len(UUIDS))
        command = [sys.executable, "-S", "-c", JOB, most, keep]
        pipes: Mapping[str, int] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.jobs.append(subprocess.Popen(command, env={**self.environment, **environment}, text=True, **pipes))
        return self.jobs[-1]


def gpu_of(job: subprocess.Popen[str]) -> int:
    """The GPU that a job has; waits until it has one."""
    return int(job.stdout.readline().split()[0])


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Four GPUs and no job."""
    machine = Machine(tmp_path)
    yield machine
    for job in machine.jobs:
        job.kill()
        job.communicate()


def tell(job: subprocess.Popen[str]) -> None:
    """Let a job go on that waits to be told."""
    job.stdin.write("\n")
    job.stdin.flush()


def test_many_jobs_at_once_never_share_a_gpu_with_more_than_allowed_and_all_come_to_their_turn(machine: Machine) -> None:
    jobs = [machine.start(2, "together") for _ in range(16)]
    assert [job.stdout.readline() for job in jobs if job.stdout] == ["ready\n"] * 16
    steps: dict[int, list[tuple[int, int]]] = {}
    holding: dict[subprocess.Popen[str], tuple[int, int]] = {}
    with selectors.DefaultSelector() as waiting:
        for job in jobs:
            waiting.register(job.stdout, selectors.EVENT_READ, job)
            tell(job)
        while waiting.get_map() or holding:
            # Four GPUs take eight jobs, however the processes are scheduled; then half of them end, and as many others begin.
            while waiting.get_map() and len(holding) < 8:
                found = waiting.select(timeout=300)
                assert found, f"{len(holding)} jobs have a GPU, {len(waiting.get_map())} wait"
                for key, _ in found:
                    index, start = map(int, key.data.stdout.readline().split())
                    holding[key.data] = (index, start)
                    waiting.unregister(key.fileobj)
            if len(holding) == 8:
                assert Counter(index for index, _ in holding.values()) == {0: 2, 1: 2, 2: 2, 3: 2}
            assert len(holding) <= 8
            for job in list(holding)[:4]:
                index, start = holding.pop(job)
                tell(job)
                output, log = job.communicate(timeout=300)
                assert job.returncode == 0, log
                steps.setdefault(index, []).extend([(start, 1), (int(output), -1)])
    assert sum(map(len, steps.values())) == 2 * 16
    for changes in steps.values():
        assert max(accumulate(change for _, change in sorted(changes))) == 2


def test_a_job_takes_the_gpu_with_the_fewest_jobs_and_waits_when_all_are_full(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    holders = [machine.start(2) for _ in range(4)]
    assert sorted(map(gpu_of, holders)) == [0, 1, 2, 3]
    holders += [machine.start(2) for _ in range(4)]
    assert Counter(map(gpu_of, holders[4:])) == {0: 1, 1: 1, 2: 1, 3: 1}
    waiting = machine.start(2)
    line = waiting.stderr.readline()
    assert "waiting since" in line
    assert "one of 4 GPUs, 8 jobs in all" in line
    for job in holders:
        assert f"by process {job.pid} since" in line
    assert waiting.poll() is None
    # Each counts the jobs with which it shares its GPU.
    monkeypatch.setenv("BEIRFLOW_LOCKS", machine.environment["BEIRFLOW_LOCKS"])
    gpus = [Gpu(index, "Fake H100", uuid, uuid, uuid) for index, uuid in enumerate(UUIDS)]
    assert [jobs_on(gpu) for gpu in gpus] == [2, 2, 2, 2]
    waiting.kill()
    waiting.wait()
    tell(holders[0])
    holders[0].wait(timeout=60)
    assert sorted(map(jobs_on, gpus)) == [1, 2, 2, 2]


def test_gpus_of_different_size_take_different_numbers_of_jobs(machine: Machine) -> None:
    jobs = [machine.start("1,2,1,3") for _ in range(7)]
    assert Counter(map(gpu_of, jobs)) == {0: 1, 1: 2, 2: 1, 3: 3}
    assert "one of 4 GPUs, 7 jobs in all" in machine.start("1,2,1,3").stderr.readline()


@pytest.mark.parametrize("keep", ["until told", "child"])
def test_a_killed_job_gives_its_gpu_back_at_once_also_if_a_program_that_it_started_lives_on(machine: Machine, keep: str) -> None:
    holders = [machine.start(keep=keep) for _ in range(4)]
    had = {gpu_of(job): job for job in holders}
    children = [int(job.stdout.readline()) for job in holders if keep == "child" and job.stdout]
    waiting = machine.start()
    assert "waiting" in waiting.stderr.readline()
    had[2].send_signal(signal.SIGKILL)
    assert gpu_of(waiting) == 2
    for child in children:
        os.kill(child, signal.SIGKILL)


def test_a_folder_that_is_not_the_users_own_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refused(folder: Path, says: str) -> None:
        monkeypatch.setenv("BEIRFLOW_LOCKS", str(folder))
        with pytest.raises(DeviceError, match=says):
            lock_folder()

    folder = tmp_path / "locks"
    folder.mkdir()
    folder.chmod(0o777)
    refused(folder, rf"{folder}, can be written by others; remove it, or set BEIRFLOW_LOCKS")
    folder.chmod(0o700)
    (tmp_path / "link").symlink_to(folder)
    refused(tmp_path / "link", "is a link and not a folder")
    (tmp_path / "file").touch()
    refused(tmp_path / "file", "cannot be made")
    if os.getuid() == 0:
        os.chown(folder, 12345, 12345)
    refused(folder if os.getuid() == 0 else Path("/"), r"belongs to user \d+, not to you")


def test_a_run_that_allows_fewer_jobs_or_names_a_gpu_differently_shares_its_locks(machine: Machine) -> None:
    assert gpu_of(machine.start(2, CUDA_VISIBLE_DEVICES="1")) == 1
    alone = machine.start(1, CUDA_VISIBLE_DEVICES=UUIDS[1])
    assert "waiting" in alone.stderr.readline()
    assert gpu_of(machine.start(2, CUDA_VISIBLE_DEVICES="1")) == 1
    assert alone.poll() is None
    assert gpu_of(machine.start(CUDA_VISIBLE_DEVICES="3")) == 3
    assert gpu_of(machine.start(CUDA_VISIBLE_DEVICES=f"GPU-d,{UUIDS[2]}")) == 2
    assert "waiting" in machine.start(CUDA_VISIBLE_DEVICES=UUIDS[3]).stderr.readline()
