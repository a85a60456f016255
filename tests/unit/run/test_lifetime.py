"""A job ends with the process that started it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from beirflow.run import lifetime
from beirflow.run.lifetime import SNAKEMAKE_PID, end_with_snakemake

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

JOB = "import time; from beirflow.run.lifetime import end_with_snakemake as end; end(); print('runs', flush=True); time.sleep(60)"
STARTER = f"""
import shlex, subprocess, sys
from beirflow.run.lifetime import end_with_this_process
subprocess.run(["bash", "-c", end_with_this_process() + sys.executable + " -c " + shlex.quote({JOB!r})])
"""
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(lifetime.__file__).parents[2])}


def test_a_job_is_killed_with_its_starter_although_a_shell_stood_between() -> None:
    starter = subprocess.Popen([sys.executable, "-c", STARTER], env=ENVIRONMENT, stdout=subprocess.PIPE)
    assert starter.stdout.readline() == b"runs\n"
    starter.kill()
    begun = time.monotonic()
    assert starter.stdout.read() == b""  # ends when the last process that holds the pipe has ended
    assert time.monotonic() - begun < 30


def test_a_job_whose_starter_has_ended_already_does_not_begin() -> None:
    environment = ENVIRONMENT | {SNAKEMAKE_PID: "1"}
    done = subprocess.run([sys.executable, "-c", JOB], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")


def test_a_process_that_no_snakemake_started_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SNAKEMAKE_PID, raising=False)
    end_with_snakemake()
