"""A job that the worker forks is as one for which Python was started, and ends as one; where it cannot, Python is started."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import psutil
import pytest

from beirflow.run import client
from beirflow.run.interrupts import SNAKEMAKE_PID
from beirflow.run.worker import start_worker
from workflow_rules import functions_of, workflow_rules

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

PACKAGES = str(Path(client.__file__).parents[2])
Captured: TypeAlias = pytest.CaptureFixture[str]

AS_JOBS = """
import runpy
from beirflow.run import rule_call
rule_call.main = lambda path, *_: runpy.run_path(path, run_name="__main__")
"""
"""Has any script run in place of a job, in a worker or in a Python of its own."""

SPY = """
import torch
ASKED = []
for name in ("_cuda_getDeviceCount", "_cuda_init", "_cuda_getDevice"):
    setattr(torch._C, name, lambda *arguments, name=name: ASKED.append(name) or 0)
torch.version.cuda = "13.0"
"""

SURROUNDINGS = """
import json, os, signal, sys, tempfile, threading
from concurrent.futures import ThreadPoolExecutor
import numpy, pyarrow, torch
from threadpoolctl import threadpool_info
print(json.dumps({
    "arguments": sys.argv,
    "folder": os.getcwd(),
    "environment": {name: value for name, value in os.environ.items() if name != "_" and "BEIRFLOW" not in name},
    "path": list(dict.fromkeys(sys.path)),
    "temporary files": tempfile.gettempdir(),
    "handlers": [str(signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE)],
    "masked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "streams": [os.stat(number).st_ino for number in range(3)],
    "process group": os.getpgrp(),
    "threads": [torch.get_num_threads(), torch.get_num_interop_threads(), pyarrow.cpu_count()],
    "threads of a thread": ThreadPoolExecutor(1).submit(torch.get_num_threads).result(),
    "pools": sorted({(pool["internal_api"], pool["num_threads"]) for pool in threadpool_info()}),
    "main": __name__,
    "thread": threading.current_thread() is threading.main_thread(),
}))
"""


@pytest.fixture
def unignored() -> Iterator[None]:
    """Signals that a child gets, even where the tests were started so that they are ignored, as `nohup` ignores SIGHUP."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working folder, from which every Python imports what runs scripts as jobs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{PACKAGES}")
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # as `keep_folders_off_the_path` sets it
    monkeypatch.setenv(client.WORKER, "")
    (tmp_path / "sitecustomize.py").write_text(AS_JOBS)
    (tmp_path / "a_spy.py").write_text(SPY)
    (tmp_path / "a_thread.py").write_text("import threading, time\nthreading.Thread(target=time.sleep, args=[60]).start()\n")
    return tmp_path


def start(script: str, folder: Path, **options: Any) -> "subprocess.Popen[bytes]":
    """Start a script as Snakemake starts the command of a rule with two threads."""
    path = folder / "script.py"
    path.write_text(script)
    command = f"{SNAKEMAKE_PID}={os.getpid()} exec {sys.executable} -IS {client.__file__} {path} 2 log"
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2")
    environment = {**os.environ, **threads, "TMPDIR": str(folder)}
    return subprocess.Popen(command, shell=True, executable="/bin/bash", env=environment, **options)  # noqa: S602


def printed(script: str, folder: Path) -> tuple[int, str, str]:
    """Run a script to its end; gives its exit status, and what it printed on either stream."""
    output, errors = folder / "output", folder / "errors"
    with output.open("w") as out, errors.open("w") as err:
        status = start(script, folder, stdout=out, stderr=err).wait()
    return status, output.read_text(), errors.read_text()


def test_a_forked_job_finds_what_a_process_of_its_own_finds(folder: Path) -> None:
    modules = {function.partition(":")[0] for rule in workflow_rules() for function in functions_of(rule)}
    own = printed(SURROUNDINGS, folder)  # once the rules, whose workflow changes the environment, have been read
    start_worker({*modules, "a_spy"})
    forked = printed(SURROUNDINGS, folder)
    assert (own[0], own[2]) == (forked[0], forked[2]) == (0, "")
    assert json.loads(forked[1]) == json.loads(own[1])
    parent = "os.environ['BEIRFLOW_SNAKEMAKE_PID'] == str(os.getppid())"
    # A process cannot use CUDA if it was forked from one that has.
    script = f"import os, sys, a_spy; print({parent}, a_spy.ASKED, {modules!r} - sys.modules.keys())"
    assert printed(script, folder)[:2] == (0, "True [] set()\n")


ENDS = [
    ("import sys; sys.exit(7)", 7, ""),
    ("import sys; sys.exit('in words')", 1, "in words\n"),
    ("import atexit; atexit.register(print, 'at the end'); raise SystemExit", 0, ""),
    ("1 / 0", 1, "ZeroDivisionError: division by zero\n"),
    ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, ""),
    ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, ""),
    ("import weakref; weakref.finalize(id, print, 'at the end')", 0, ""),
    ("import sys; sys.stdout = sys.stderr = None", 0, ""),
    ("import sys; sys.stdout.close()", 0, ""),
    ("import sys; sys.stdout = open('/dev/full', 'w'); print()", 120, "OSError: [Errno 28] No space left on device\n"),
    ("import threading, time; threading.Thread(target=lambda: (time.sleep(0.2), print('at the end'))).start()", 0, ""),
]


@pytest.mark.parametrize("forks", [False, True])
def test_a_forked_job_ends_as_a_process_of_its_own(forks: bool, folder: Path) -> None:
    if forks:
        start_worker([])
    for script, status, says in ENDS:
        ended, output, errors = printed(script, folder)
        assert (ended, output) == (status, "at the end\n" if "at the end" in script else ""), script
        assert errors.endswith(says), script
        assert bool(errors) == bool(says), script


@pytest.mark.parametrize("forks", [False, True])
def test_a_stream_that_was_closed_before_the_command_began_is_an_empty_one_to_the_job(forks: bool, folder: Path) -> None:
    if forks:
        start_worker([])
    for number in range(3):
        script = f"import os; assert os.path.samestat(os.fstat({number}), os.stat(os.devnull))"
        assert start(script, folder, preexec_fn=lambda number=number: os.close(number)).wait() == 0


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_a_worker_starts_where_a_stream_of_snakemake_was_closed(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, name, None)
    start_worker([])
    assert printed(f"import os; print(os.getppid() == {os.getpid()})", folder) == (0, "False\n", "")


SLEEP = "import os, time; print(os.getpid(), os.getppid(), flush=True); time.sleep(60)"


def numbers(capfd: Captured, count: int = 2) -> list[psutil.Process]:
    """The processes whose numbers a job prints at first."""
    while not (line := capfd.readouterr().out):
        time.sleep(0.01)
    return [psutil.Process(int(number)) for number in line.split()[-count:]]


@pytest.mark.usefixtures("unignored")
def test_a_job_gets_the_signals_of_its_client_which_ends_as_it_does(folder: Path, capfd: Captured) -> None:
    start_worker([])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        client_of_job = start(f"import signal; signal.signal({number:d}, signal.SIG_DFL); {SLEEP}", folder)
        process, _ = numbers(capfd)
        assert process.pid != client_of_job.pid
        client_of_job.send_signal(number)
        assert client_of_job.wait(30) == -number
        assert psutil.wait_procs([process], timeout=30)[1] == []


@pytest.mark.parametrize("killed", ["client", "worker", "job"])
def test_job_and_client_end_where_one_of_them_or_the_worker_is_killed(killed: str, folder: Path, capfd: Captured) -> None:
    start_worker([])
    client_of_job = start(SLEEP, folder)
    process, worker = numbers(capfd)
    {"client": client_of_job, "worker": worker, "job": process}[killed].kill()
    assert client_of_job.wait(30) == -signal.SIGKILL
    assert psutil.wait_procs([process], timeout=30)[1] == []
    if killed != "worker":
        assert (start("import sys; sys.exit(3)", folder).wait(), worker.is_running()) == (3, True)


def test_the_number_of_an_ended_job_is_no_other_process_until_its_client_has_ended(folder: Path, capfd: Captured) -> None:
    start_worker([])
    client_of_job = start(SLEEP, folder)
    process, _ = numbers(capfd)
    client_of_job.send_signal(signal.SIGSTOP)
    process.kill()
    deadline = time.monotonic() + 30
    while process.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
    time.sleep(0.2)
    assert process.status() == psutil.STATUS_ZOMBIE
    client_of_job.send_signal(signal.SIGCONT)
    assert client_of_job.wait(30) == -signal.SIGKILL
    assert psutil.wait_procs([process], timeout=30)[1] == []


def test_a_job_that_a_job_starts_is_not_of_the_same_worker(folder: Path) -> None:
    """It may be of another Snakemake, with other code."""
    start_worker([])
    (folder / "inner.py").write_text("import os; print(os.getppid())")
    inner = f"[sys.executable, '-IS', {client.__file__!r}, 'inner.py', '1', 'log']"
    said = f"os.getpid(), bool(os.environ[{client.WORKER!r}])"
    script = f"import os, subprocess, sys; print({said}, flush=True); subprocess.run({inner})"
    status, output, _ = printed(script, folder)
    outer, has_variable, parent = output.split()
    assert (status, has_variable, parent) == (0, "True", outer)


def test_nobody_else_has_a_job_run_or_gets_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start_worker([])
    address = os.environ[client.WORKER].partition(":")[2]
    ours = client.connected(address)
    assert ours
    assert client.peer_of(ours) == os.getuid()
    assert client.connected(f"{address}-gone") is None
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert client.connected(address) is None


ENDS_BY_ITSELF = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell in the background turns off
print(os.getppid(), flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    print("at the end", flush=True)
    sys.exit(130)
"""


@pytest.mark.usefixtures("unignored")
def test_a_job_ends_by_itself_when_its_run_is_stopped_and_none_begins(folder: Path, capfd: Captured) -> None:
    start_worker([])
    client_of_job = start(ENDS_BY_ITSELF, folder)
    (worker,) = numbers(capfd, 1)
    # As a terminal sends it to all processes of a run; the job gets it from its client, too.
    for process in (worker, client_of_job):
        process.send_signal(signal.SIGINT)
    assert (client_of_job.wait(), capfd.readouterr().out) == (130, "at the end\n")
    assert printed("print('began')", folder) == (130, "", "")


def test_python_is_started_where_no_job_can_be_forked(folder: Path) -> None:
    (folder / "no_memory.py").write_text("import os\ndef fork(): raise BlockingIOError\nos.fork = fork\n")
    (folder / "old_kernel.py").write_text("import os\ndef opened(owner): raise OSError(38, '')\nos.pidfd_open = opened\n")
    for module in ("a_thread", "no_memory", "old_kernel"):
        start_worker([module])
        for _ in range(2):
            output, errors = folder / "output", folder / "errors"
            with output.open("w") as out, errors.open("w") as err:
                job = start("import os; print(os.getpid())", folder, stdout=out, stderr=err)
            assert (job.wait(), output.read_text(), errors.read_text()) == (0, f"{job.pid}\n", ""), module
    start_worker(["a_module_that_does_not_exist"])
    assert printed(f"import os; print(os.getppid() == {os.getpid()})", folder) == (0, "False\n", "")


def test_a_worker_ends_with_its_snakemake(folder: Path) -> None:
    program = "import os; from beirflow.run.worker import start_worker; start_worker([])"
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", f"{program}; os._exit(3)"], capture_output=True, check=False)
    # The worker has the other end of the pipes.
    assert (done.returncode, time.monotonic() - started < 50) == (3, True)
