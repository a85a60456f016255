"""A process that has imported what jobs import and forks each job: the imports take longer than all else that a short job does.

It runs beside Snakemake, on the same machine, on Linux. A job that it forks has the environment, folder, threads, signals and
search path of a process of its own, so that nothing depends on how it was started. A job ends with this process, and this process
with its Snakemake.

Nothing that is imported here may start CUDA or a thread, since a process that is forked from another has neither.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
import traceback
import weakref
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import NoReturn

import psutil
from threadpoolctl import threadpool_limits

from beirflow.run.by_name import by_name
from beirflow.run.job import INTERRUPTED
from beirflow.run.lifetime import SNAKEMAKE_PID

NO_THREADS = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "OPENBLAS_THREAD_TIMEOUT": "4",  # of 4 to 30; by itself each thread of each job computes 2 ** 26 cycles before it waits
}
"""The environment in which libraries start no thread when they are imported, and later none that waits at full speed."""

MODELS = "beirflow.models.computing.lean_imports"
"""The module that knows what loading a model imports; jobs that load models reach it."""

STOPS = {signal.SIGINT, signal.SIGTERM}
"""Signals to a whole run, whose jobs end by themselves on them. Here they remain pending, and no script begins any more."""

LONGEST_REQUEST = 1 << 20  # bytes
UNWRITTEN = 120  # exit status of a Python that could not write what it had printed


def main(requests: str, owner: str, *modules: str) -> NoReturn:
    """Import modules, then run scripts for the requests at a socket, given by its descriptor, until a process ends, the owner."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    import_for_jobs(modules)
    serve(socket.socket(fileno=int(requests)), int(owner), run_script)


def import_for_jobs(modules: Iterable[str]) -> None:
    """Import modules that jobs import, and what they import when they load models; of a faulty one its job complains."""
    gc.disable()  # until jobs are forked: what is imported is no garbage, and to look through it takes a fifth of the time
    for name in (*modules, "pandas"):  # which Arrow imports when it makes its first array
        if STOPS & signal.sigpending():
            return  # no script will begin
        with suppress(Exception):
            importlib.import_module(name)
    if MODELS in sys.modules:
        with suppress(Exception):
            by_name(f"{MODELS}:import_ahead")()


def serve(requests: socket.socket, owner: int, run: Callable[..., NoReturn]) -> NoReturn:
    """Fork a process for each request, and send its number and, once it has ended, its exit status.

    A request is one message: the arguments of ``run`` by name, in JSON, and the socket for the answers. This process ends at once
    when its owner ends, if a thread was started in it, which no fork would have, and on a kernel that cannot say when a process
    ends, older than 5.3: requests then get no answer.
    """
    _leave_what_is_imported()
    try:
        owner_ends = os.pidfd_open(owner)
    except OSError:
        os._exit(1)
    children: list[_Child] = []
    while psutil.Process().num_threads() == 1:
        ready = select.select([owner_ends, requests.fileno(), *(child.awaited for child in children)], [], [])[0]
        if owner_ends in ready:
            os._exit(0)
        children = [child for child in children if child.awaited not in ready or child.goes_on()]
        if requests.fileno() in ready:
            message, descriptors, _, _ = socket.recv_fds(requests, LONGEST_REQUEST, 1)
            answers = socket.socket(fileno=descriptors[0])
            sockets = [requests, answers, *(child.answers for child in children)]
            if number := _fork(partial(run, **json.loads(message)), sockets):
                children.append(_Child(number, answers))
            else:
                answers.close()
    os._exit(1)


def _fork(run: Callable[[], NoReturn], sockets: Iterable[socket.socket]) -> int:
    """Run a function in a forked process, with these sockets closed; return its number, or 0 if there is no memory for it."""
    stopped = bool(STOPS & signal.sigpending())
    try:
        if number := os.fork():
            return number
    except OSError:  # or there are too many processes; the jobs that run are not to end for it
        return 0
    for each in sockets:
        each.close()
    if stopped:
        os._exit(INTERRUPTED)
    return run()


class _Child:
    """A forked process. Once it has ended it is a zombie, at which Snakemake may still look, until its status has been read."""

    def __init__(self, number: int, answers: socket.socket) -> None:
        self.answers, self._number = answers, number  # Snakemake closes the other end when it has read the status
        self._answer(number)
        self.awaited = os.pidfd_open(number)  # the descriptor that will be ready next: this one, then that of the socket

    def goes_on(self) -> bool:
        """Send the exit status of the process, which has ended, or forget it if the status has been read; return which."""
        if self.awaited == self.answers.fileno():
            os.waitpid(self._number, 0)
            self.answers.close()
            return False
        os.close(self.awaited)
        self.awaited = self.answers.fileno()
        if ended := os.waitid(os.P_PID, self._number, os.WEXITED | os.WNOWAIT):
            self._answer(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)
        return True

    def _answer(self, number: int) -> None:
        with suppress(BrokenPipeError):  # Snakemake no longer waits for it
            self.answers.sendall(f"{number}\n".encode())


def _leave_what_is_imported() -> None:
    """Let no fork look for garbage in what is imported, nor take it apart when it ends: it would copy it first."""
    gc.freeze()
    gc.enable()
    for finalizer in weakref.finalize._registry:  # type: ignore[attr-defined]
        finalizer.atexit = False


def run_script(script: str, folder: str, environment: Mapping[str, str]) -> NoReturn:
    """Run a Python script in this process, in a folder and with an environment, as Python does that is started there."""
    os.environ.clear()
    os.environ.update(environment, PWD=folder, **{SNAKEMAKE_PID: str(os.getppid())})
    os.chdir(folder)
    tempfile.tempdir = None  # which another environment may have chosen
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    # The folder of the script is not in the search path: the working folder may hold files of others (see
    # :func:`~beirflow.run.snakemake_internals.workflow_run.keep_folders_off_the_path`).
    sys.argv = [script]
    use_threads(int(environment["OMP_NUM_THREADS"]))
    run_to_the_end(partial(runpy.run_path, script, run_name="__main__"))


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
