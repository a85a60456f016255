"""A job's own GPU on real CUDA: the only one that it sees, given back when it is killed, named when its memory is too small."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from beirflow.extensions.energy.meter import gpu_counter
from beirflow.run.gpus import list_gpus, visible_gpus

pytestmark = pytest.mark.skipif(not torch.cuda.is_available() or not list_gpus(), reason="needs a CUDA device and nvidia-smi")

PATH = os.pathsep.join([str(Path(__file__).parents[2] / "src"), os.environ.get("PYTHONPATH", "")])

JOB = """
import logging, os, sys
import beirflow.families.dense.encode, beirflow.families.dense.search
from beirflow.run.gpu_job import gpu_job
import torch
logging.basicConfig(level=logging.INFO, format="%(message)s")
with gpu_job("cuda", 1):
    torch.ones(1, device="cuda")
    print(torch.cuda.device_count(), torch.cuda.get_device_properties(0).uuid, flush=True)
    if sys.argv[1] == "too much":
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
    sys.stdin.read()
"""


@pytest.fixture
def jobs() -> Iterator[list[subprocess.Popen[str]]]:
    """Jobs that are ended after the test."""
    jobs: list[subprocess.Popen[str]] = []
    yield jobs
    for job in jobs:
        job.kill()
        job.communicate()


def start(jobs: list[subprocess.Popen[str]], locks: Path, what: str = "wait") -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": PATH, "BEIRFLOW_LOCKS": str(locks)}
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    jobs.append(subprocess.Popen([sys.executable, "-c", JOB, what], env=environment, text=True, **pipes))
    return jobs[-1]


def gpu_of(job: subprocess.Popen[str]) -> str:
    """The UUID of the only GPU that a job sees."""
    assert job.stdout
    count, uuid = job.stdout.readline().split()
    assert count == "1"
    return uuid


def test_every_job_has_a_gpu_of_its_own_and_the_next_one_gets_that_of_a_killed_one(
    jobs: list[subprocess.Popen[str]], tmp_path: Path
) -> None:
    gpus = visible_gpus(list_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES"))
    had = [gpu_of(start(jobs, tmp_path)) for _ in gpus]
    assert len(set(had)) == len(gpus)
    if not any(gpu.uuid.startswith("MIG-") for gpu in gpus):
        assert {f"GPU-{uuid}" for uuid in had} == {gpu.uuid for gpu in gpus}
    waiting = start(jobs, tmp_path)
    assert waiting.stderr
    assert "waiting since" in waiting.stderr.readline()
    jobs[0].send_signal(signal.SIGKILL)
    assert gpu_of(waiting) == had[0]


def test_too_little_memory_names_the_gpu_and_what_to_do(jobs: list[subprocess.Popen[str]], tmp_path: Path) -> None:
    _, log = start(jobs, tmp_path, "too much").communicate(timeout=120)
    gpu = visible_gpus(list_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES"))[0]
    assert f"DeviceError: {gpu} has too little memory left: " in log
    assert "are in use" in log
    assert "jobs_per_gpu: 1" in log


def test_the_energy_of_a_gpu_grows_by_what_a_gpu_may_use_while_it_computes() -> None:
    counter = gpu_counter(list_gpus()[0])
    numbers, start = torch.ones(4096, 4096, device="cuda"), time.monotonic()
    while time.monotonic() - start < 2:
        numbers = (numbers @ numbers).clamp(max=1)
        torch.cuda.synchronize()
    counter.advance()
    assert 10 < counter.total / 1e6 / (time.monotonic() - start) < 1500  # watts
