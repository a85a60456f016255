"""A forked script is as one that Python was started for, and ends as one; where none can be forked, Python is started."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import psutil
import pytest

from beirflow.run import lifetime
from beirflow.run.code_version import entrances
from beirflow.run.snakemake_internals.forked_jobs import ForkedJob, fork_scripts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

PACKAGES = str(Path(lifetime.__file__).parents[2])
Captured: TypeAlias = pytest.CaptureFixture[str]
SHELL = import_module("snakemake.shell")  # the package has a class of the same name

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
    "environment": {name: value for name, value in os.environ.items() if name not in ("_", "SHLVL", "BEIRFLOW_SNAKEMAKE_PID")},
    "path": sys.path,
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
def snakemake_shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The call that starts processes as Snakemake has it, and a folder."""
    monkeypatch.setattr(SHELL, "sp", subprocess)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # as `keep_folders_off_the_path` sets it
    (tmp_path / "a_spy.py").write_text(SPY)
    (tmp_path / "a_thread.py").write_text("import threading, time\nthreading.Thread(target=time.sleep, args=[60]).start()\n")
    return tmp_path


def start(script: str, folder: Path) -> Any:
    """Start a script as Snakemake starts that of a rule with two threads."""
    path = folder / "script.py"
    path.write_text(script)
    command = f"{lifetime.SNAKEMAKE_PID}={os.getpid()} exec {sys.executable} {path}"
    environment = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2")}
    return SHELL.sp.Popen(command, shell=True, executable="/bin/bash", env={**environment, "TMPDIR": str(folder)})  # noqa: S604


def printed(script: str, folder: Path, capfd: Captured) -> tuple[int, str, str]:
    """Run a script to its end; gives its exit status, and what it printed on either stream."""
    process = start(script, folder)
    status = process.wait()
    return (status, *capfd.readouterr())


def test_a_forked_script_finds_what_a_process_of_its_own_finds(snakemake_shell: Path, capfd: Captured) -> None:
    own = printed(SURROUNDINGS, snakemake_shell, capfd)
    modules = {function.partition(":")[0] for functions in entrances().values() for function in functions}
    fork_scripts({*modules, "a_spy"})
    forked = printed(SURROUNDINGS, snakemake_shell, capfd)
    assert (own[0], own[2]) == (forked[0], forked[2]) == (0, "")
    assert json.loads(forked[1]) == json.loads(own[1])
    parent = "os.environ['BEIRFLOW_SNAKEMAKE_PID'] == str(os.getppid())"
    # A process cannot use CUDA if it was forked from one that has.
    script = f"import os, sys, a_spy; print({parent}, a_spy.ASKED, {modules!r} - sys.modules.keys())"
    assert printed(script, snakemake_shell, capfd)[:2] == (0, "True [] set()\n")


def test_threads_of_a_forked_script_wait_without_computing(snakemake_shell: Path, capfd: Captured) -> None:
    fork_scripts(["numpy"])
    # By itself OpenBLAS would let each thread that has nothing to do compute for some 25 ms.
    script = "import time; begun = time.process_time(); time.sleep(0.3); print(time.process_time() - begun < 0.01)"
    assert printed(script, snakemake_shell, capfd)[:2] == (0, "True\n")


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
def test_a_forked_script_ends_as_a_process_of_its_own(forks: bool, snakemake_shell: Path, capfd: Captured) -> None:
    if forks:
        fork_scripts([])
    for script, status, says in ENDS:
        ended, output, errors = printed(script, snakemake_shell, capfd)
        assert (ended, output) == (status, "at the end\n" if "at the end" in script else ""), script
        assert errors.endswith(says), script
        assert bool(errors) == bool(says), script


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_a_stream_that_was_closed_before_snakemake_started_is_an_empty_one_to_scripts(
    name: str, snakemake_shell: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, name, None)
    fork_scripts([])
    number = ("stdin", "stdout", "stderr").index(name)
    script = f"import os, sys; assert os.path.samestat(os.fstat({number}), os.stat(os.devnull)); sys.{name}.isatty()"
    assert start(script, snakemake_shell).wait() == 0


def test_what_was_imported_is_not_taken_apart_by_a_forked_script(snakemake_shell: Path, capfd: Captured) -> None:
    (snakemake_shell / "a_library.py").write_text("import weakref\nweakref.finalize(id, print, 'taken apart')\n")
    fork_scripts(["a_library"])
    script = "import sys; print('a_library' in sys.modules)"
    assert printed(script, snakemake_shell, capfd) == (0, "True\n", "")


SLEEP = "import os, time; print(os.getpid(), os.getppid(), flush=True); time.sleep(60)"


def test_a_forked_script_can_be_stopped_and_ends_with_its_server(snakemake_shell: Path, capfd: Captured) -> None:
    fork_scripts([])
    for stop, status in ((ForkedJob.terminate, -signal.SIGTERM), (ForkedJob.kill, -signal.SIGKILL)):
        job = start(SLEEP, snakemake_shell)
        assert isinstance(job, ForkedJob)
        stop(job)
        assert job.wait() == status
        stop(job)  # without harm
    job = start(f"import sys; sys.modules['beirflow.run.lifetime'].end_with_snakemake(); {SLEEP}", snakemake_shell)
    while not (line := capfd.readouterr().out):
        time.sleep(0.01)
    process, server = map(psutil.Process, map(int, line.split()[-2:]))
    server.kill()
    assert job.wait() == -signal.SIGKILL
    assert psutil.wait_procs([process], timeout=30)[1] == []


def test_snakemake_can_look_at_a_forked_script_that_has_ended(snakemake_shell: Path) -> None:
    fork_scripts([])
    job = start("import sys; sys.exit(3)", snakemake_shell)
    time.sleep(1)  # Snakemake measures the memory of a job, and looks for its process after having started it
    assert psutil.Process(job.pid).status() == psutil.STATUS_ZOMBIE
    assert job.wait() == 3
    deadline = time.monotonic() + 30
    while psutil.pid_exists(job.pid):
        assert time.monotonic() < deadline


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


def test_a_job_ends_by_itself_when_its_run_is_stopped_and_none_begins(snakemake_shell: Path, capfd: Captured) -> None:
    fork_scripts([])
    job = start(ENDS_BY_ITSELF, snakemake_shell)
    assert isinstance(job, ForkedJob)
    while not (line := capfd.readouterr().out):
        time.sleep(0.01)
    # As a terminal sends it to all processes of a run.
    for process in (int(line), job.pid):
        os.kill(process, signal.SIGINT)
    assert (job.wait(), capfd.readouterr().out) == (130, "at the end\n")
    assert printed("print('began')", snakemake_shell, capfd) == (130, "", "")


def test_a_run_that_is_stopped_does_not_wait_for_imports(snakemake_shell: Path, capfd: Captured) -> None:
    (snakemake_shell / "first.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    (snakemake_shell / "second.py").write_text("import time; time.sleep(60)")
    fork_scripts(["first", "second"])
    started = time.monotonic()
    assert printed("print('began')", snakemake_shell, capfd) == (130, "", "")
    assert time.monotonic() - started < 50


def test_python_is_started_where_no_script_can_be_forked(snakemake_shell: Path, capfd: Captured) -> None:
    (snakemake_shell / "no_memory.py").write_text("import os\ndef fork(): raise BlockingIOError\nos.fork = fork\n")
    (snakemake_shell / "old_kernel.py").write_text(
        "import os\ndef opened(owner): raise OSError(38, '')\nos.pidfd_open = opened\n"
    )
    for module in ("a_thread", "no_memory", "old_kernel"):
        fork_scripts([module])
        for _ in range(2):
            job = start("print('ran')", snakemake_shell)
            assert isinstance(job, subprocess.Popen)
            assert (job.wait(), *capfd.readouterr()) == (0, "ran\n", ""), module
    fork_scripts(["a_module_that_does_not_exist"])
    assert isinstance(start("", snakemake_shell), ForkedJob)
    # As for a script in a container.
    assert SHELL.sp.Popen(f"true && {sys.executable} -c 1", shell=True, env={**os.environ}).wait() == 0  # noqa: S604


def test_a_server_ends_with_its_snakemake(snakemake_shell: Path) -> None:
    package = "beirflow.run.snakemake_internals.forked_jobs"
    program = (
        f"import os, sys, snakemake.shell; sys.path.append({PACKAGES!r}); from {package} import fork_scripts; fork_scripts([])"
    )
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", f"{program}; os._exit(3)"], capture_output=True, check=False)
    # The server has the other end of the pipes.
    assert (done.returncode, time.monotonic() - started < 50) == (3, True)
