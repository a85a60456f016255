"""Warm worker: a process that has imported what jobs import and forks each job, since imports take longer than a short job.

It runs on the machine of Snakemake, on Linux. The client in the command of a rule connects to it, hands over its
streams, folder, environment and arguments, and ends as the job ends. A job that is forked has the environment, folder, threads,
signals and search path of a process of its own, so that nothing depends on how it was started. It ends with its client, with this
process, and so with its Snakemake.

Nothing that is imported here may start CUDA or a thread, since a process that is forked from another has neither.
"""

import atexit
import gc
import importlib
import marshal
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

import psutil
from threadpoolctl import threadpool_limits

from beirflow.run import client
from beirflow.run.by_name import by_name
from beirflow.run.interrupts import SNAKEMAKE_PID, end_with
from beirflow.run.job import INTERRUPTED

NO_THREADS = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "OPENBLAS_THREAD_TIMEOUT": "4",  # of 4 to 30; by itself each thread of each job computes 2 ** 26 cycles before it waits
}
"""The environment in which libraries start no thread when they are imported, and later none that waits at full speed."""

MODELS = "beirflow.models.computing.loading"
"""The module that knows what loading a model imports; jobs that load models reach it."""

JOB = "beirflow.run.rule_call"
"""The module that runs a job."""

STOPS = {signal.SIGINT, signal.SIGTERM}
"""Signals to a whole run, whose jobs end by themselves on them. Here they remain pending, and no job begins any more."""

WAITING_CLIENTS = (
    4096  # most clients that wait for this process to import; the kernel may allow fewer, and further ones wait longer
)
UNWRITTEN = 120  # exit status of a Python that could not write what it had printed


def start_worker(modules: Iterable[str]) -> None:
    """Start a worker that imports these modules, and tell clients that this process starts of it."""
    # An abstract address needs no folder, has the same length everywhere, and is gone with the worker.
    address = f"beirflow-{secrets.token_hex(16)}"
    # Other files have the descriptors of streams that were closed before Python started.
    closed: dict[str, Any] = {name: subprocess.DEVNULL for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(f"\0{address}")
        listener.listen(WAITING_CLIENTS)
        command = [sys.executable, "-P", "-m", __name__, str(listener.fileno()), str(os.getpid()), *sorted(modules)]
        subprocess.Popen(command, env={**os.environ, **NO_THREADS}, pass_fds=[listener.fileno()], **closed)  # noqa: S603 (this Python)
    os.environ[client.WORKER] = f"{os.getpid()}:{address}"


def main(listener: str, owner: str, *modules: str) -> NoReturn:
    """Import modules, then run jobs for clients at a socket, given by its descriptor, until a process ends, the owner."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    import_for_jobs([JOB, *modules])
    serve(socket.socket(fileno=int(listener)), int(owner), run_job)


def import_for_jobs(modules: Iterable[str]) -> None:
    """Import modules that jobs import, and what they import when they load models; of a faulty one its job complains."""
    gc.disable()  # until jobs are forked: what is imported is no garbage, and to look through it takes a fifth of the time
    for name in (*modules, "pandas"):  # which Arrow imports when it makes its first array
        if STOPS & signal.sigpending():
            return  # no job will begin
        with suppress(Exception):
            importlib.import_module(name)
    if MODELS in sys.modules:
        with suppress(Exception):
            by_name(f"{MODELS}:import_ahead")()


def serve(listener: socket.socket, owner: int, run: Callable[..., NoReturn]) -> NoReturn:
    """Fork a process for each client, which calls ``run`` with the client's request, and tell the client its exit status.

    This process ends at once when its owner ends, if a thread was started in it, which no fork would have, and on a kernel that
    cannot say when a process ends, older than 5.3: clients then run their jobs themselves.
    """
    _leave_what_is_imported()
    try:
        owner_ends = os.pidfd_open(owner)
    except OSError:
        os._exit(1)
    jobs: list[_Job] = []
    while psutil.Process().num_threads() == 1:
        poll = select.poll()
        for awaited in ({owner_ends: select.POLLIN, listener.fileno(): select.POLLIN}, *(job.awaited for job in jobs)):
            for descriptor, events in awaited.items():
                poll.register(descriptor, events)
        ready = {descriptor for descriptor, _ in poll.poll()}
        if owner_ends in ready:
            os._exit(0)
        jobs = [job for job in jobs if job.goes_on(ready)]
        if listener.fileno() in ready:
            connection = listener.accept()[0]
            others = [owner_ends, listener.fileno(), *(number for job in jobs for number in job.awaited)]
            if number := _fork(connection, run, others):
                jobs.append(_Job(number, connection))
            else:
                connection.close()
    os._exit(1)


def _fork(connection: socket.socket, run: Callable[..., NoReturn], others: Sequence[int]) -> int:
    """Fork a process for a client, with other descriptors closed; return its number, 0 if the client has to run its job."""
    if client.peer_of(connection) != os.getuid():
        return 0
    worker, stopped = os.getpid(), bool(STOPS & signal.sigpending())
    try:
        if number := os.fork():
            return number
    except OSError:  # there is no memory or too many processes; the jobs that run are not to end for it
        return 0
    end_with(worker)
    for descriptor in others:
        os.close(descriptor)
    try:
        request = _received(connection)
        connection.sendall(os.getpid().to_bytes(client.LENGTH_BYTES, "big"))
    except (OSError, EOFError):
        os._exit(1)  # the client has ended
    connection.close()
    if stopped:
        os._exit(INTERRUPTED)
    return run(**request)


def _received(connection: socket.socket) -> dict[str, Any]:
    """Receive what a client sends, and take its streams."""
    head, streams, _, _ = socket.recv_fds(connection, client.LENGTH_BYTES, 3)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    with connection.makefile("rb") as incoming:
        content = incoming.read(int.from_bytes(head, "big"))
    request: dict[str, Any] = marshal.loads(content)  # noqa: S302 (from this user)
    return request


class _Job:
    """A job and its client, which may send it signals: no other process gets its number before the client has ended."""

    def __init__(self, number: int, connection: socket.socket) -> None:
        self._number, self._connection, self._process = number, connection, os.pidfd_open(number)
        # Of the client nothing more is read here, which the job may not have done yet.
        self.awaited = {self._process: select.POLLIN, connection.fileno(): select.POLLRDHUP}

    def goes_on(self, ready: set[int]) -> bool:
        """Tell the client the exit status of a job that has ended, kill one whose client has ended; return whether one lives."""
        if self._connection.fileno() in ready:
            if self._process in self.awaited:
                os.kill(self._number, signal.SIGKILL)
            del self.awaited[self._connection.fileno()]
            self._connection.close()
        if self._process in ready:
            ended = os.waitid(os.P_PID, self._number, os.WEXITED | os.WNOWAIT)
            status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status  # type: ignore[union-attr]
            with suppress(OSError):  # the client has ended
                self._connection.sendall(status.to_bytes(client.LENGTH_BYTES, "big", signed=True))
            del self.awaited[self._process]
            os.close(self._process)
        if not self.awaited:
            os.waitpid(self._number, 0)
        return bool(self.awaited)


def _leave_what_is_imported() -> None:
    """Let no fork look for garbage in what is imported, nor take it apart when it ends: it would copy it first."""
    gc.freeze()
    gc.enable()
    for finalizer in weakref.finalize._registry:  # type: ignore[attr-defined]
        finalizer.atexit = False


def run_job(arguments: Sequence[str], folder: str, environment: Mapping[str, str]) -> NoReturn:
    """Run a job in this process, in a folder and with an environment, as the client's own Python would."""
    os.environ.clear()
    os.environ.update(environment, PWD=folder, **{SNAKEMAKE_PID: str(os.getppid())})
    os.chdir(folder)
    tempfile.tempdir = None  # which another environment may have chosen
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    sys.argv = ["-c", *arguments]
    use_threads(int(environment["OMP_NUM_THREADS"]))
    run_to_the_end(partial(by_name(f"{JOB}:main"), *arguments))


def run_to_the_end(program: Callable[[], object]) -> NoReturn:
    """Run a program, and end this process as Python does, but without taking apart what it would first have to copy."""
    status: object = 0
    try:
        program()
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    if not isinstance(status, int):
        sys.stderr.write(f"{status}\n")
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    os._exit(status if _flushed() else UNWRITTEN)


def _flushed() -> bool:
    """Write what waits in the standard streams; return whether it was written."""
    written = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream and not stream.closed:  # which the script may have replaced
                stream.flush()
        except OSError:
            written = False
            with suppress(OSError):
                traceback.print_exc()
    return written


def use_threads(number: int) -> None:
    """Let libraries that were imported with one thread use this number."""
    threadpool_limits(number)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(number)


if __name__ == "__main__":
    main(*sys.argv[1:])
