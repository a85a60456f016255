"""Processes of Snakemake's jobs: forked by `fork_server` in place of new Python processes, and stopped by an interrupt.

Ctrl-C in a terminal reaches all processes of a run. An interrupt of Snakemake alone, as by ``docker stop`` or ``kill -INT``, does
not reach its jobs, and Snakemake waits for them: it is passed on.
"""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import WeakSet

from beirflow.run import fork_server
from beirflow.run.interrupts import on_interrupt
from beirflow.run.lifetime import SNAKEMAKE_PID

RUNNING: "WeakSet[subprocess.Popen[bytes] | ForkedJob]" = WeakSet()  # what has not ended
CHANGES = threading.Lock()  # of RUNNING, by the threads that start jobs
STOPPED = threading.Event()  # whether no job may go on


def _follow(job: "subprocess.Popen[bytes] | ForkedJob") -> None:
    """Stop a job when the run is interrupted."""
    with CHANGES:
        RUNNING.add(job)
    if STOPPED.is_set():
        job.terminate()


def stop_jobs() -> None:
    """Ask all jobs to end, those that begin later too."""
    STOPPED.set()
    with CHANGES:
        for job in RUNNING:
            job.terminate()


def start_job(*arguments: Any, **options: Any) -> "subprocess.Popen[bytes]":
    """Start a process as ``subprocess.Popen`` does, for a job."""
    job = subprocess.Popen(*arguments, **options)  # noqa: S603 (as Snakemake does)
    _follow(job)
    return job


class ForkedJob:
    """A process that a server has forked, with as much of the interface of ``subprocess.Popen`` as Snakemake uses.

    ``request`` is what the server at the other end of the socket runs. Raises OSError or ValueError if it cannot.
    """

    def __init__(self, requests: socket.socket, **request: Any) -> None:
        mine, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(requests, [json.dumps(request).encode()], [theirs.fileno()])
        with mine:
            self._answers = mine.makefile()
        self.pid, self._ended = int(self._answers.readline()), False
        _follow(self)

    def wait(self) -> int:
        """Wait for the end of the process; return its exit status, that of a killed process if the server was killed."""
        with self._answers:
            status = int(self._answers.readline() or -signal.SIGKILL)
        self._ended = True
        return status

    def kill(self) -> None:
        """End the process at once."""
        self._send(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the process to end."""
        self._send(signal.SIGTERM)

    def _send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            if not self._ended:  # another process may have its number by then
                os.kill(self.pid, number)


def pass_interrupts_on() -> None:
    """Stop the jobs of this Snakemake at each interrupt."""
    _start_with(start_job)
    on_interrupt(stop_jobs)


def fork_scripts(modules: Iterable[str]) -> None:
    """Start a server that has imported these modules, and have the scripts of this Snakemake run by processes that it forks.

    Snakemake starts other commands itself, and scripts too where the server cannot: those in another environment or a container.
    """
    requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    environment = {**os.environ, **fork_server.NO_THREADS}
    with theirs:
        arguments = [str(theirs.fileno()), str(os.getpid()), *sorted(modules)]
        server = [sys.executable, "-P", "-m", fork_server.__name__, *arguments]
        # Other files have the descriptors of streams that were closed before Python started.
        closed: dict[str, Any] = {
            name: subprocess.DEVNULL for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None
        }
        subprocess.Popen(server, env=environment, pass_fds=[theirs.fileno()], **closed)  # noqa: S603 (this Python)

    def start(command: str, env: Mapping[str, str], **others: Any) -> "subprocess.Popen[bytes] | ForkedJob":
        match shlex.split(command):
            case [assignment, "exec", sys.executable, script] if assignment.startswith(f"{SNAKEMAKE_PID}="):
                with suppress(OSError, ValueError):
                    return ForkedJob(requests, script=script, folder=str(Path.cwd()), environment=dict(env))
        return start_job(command, env=env, **others)

    _start_with(start)


def _start_with(start: Callable[..., Any]) -> None:
    """Let Snakemake call this to start a process."""
    # The package has a class of the same name.
    vars(sys.modules["snakemake.shell"])["sp"] = SimpleNamespace(**{**vars(subprocess), "Popen": start})
