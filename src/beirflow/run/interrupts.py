"""Signals of a run and of its jobs: which end with it, and where a Ctrl-C counts wherever it falls, once.

**Interrupts.** Python raises KeyboardInterrupt in whatever the main thread runs at that moment. In a finalizer or the callback
of a weak reference it cannot reach the caller: Python prints "Exception ignored in" and goes on, and so does the run. In a task
of an event loop it becomes the result of the task, too: when Snakemake runs the loop again, it is raised a second time, where
nothing expects an interrupt. In a callback of the loop it is raised once. Ctrl-C in a terminal reaches all processes of a run. An
interrupt of Snakemake alone, as by ``docker stop`` or ``kill -INT``, does not reach its jobs, and Snakemake waits for them: it is
passed on.

**Lifetime.** If Snakemake alone is killed, a job would continue to write while the next run, perhaps with another
configuration, makes the same files. Instead, the kernel ends the job at the same moment, so that no file has two writers. This
needs Linux. For the kernel, the parent is the thread that started the job, not the whole process (prctl(2)): a job ends with
that thread, even if its Snakemake continues. Snakemake's local executor starts a job in a thread that waits for it, so there
the two are the same. An executor whose threads end before their jobs must not use this. Of a job that the warm worker forked,
the worker is the parent.
"""

import atexit
import ctypes
import math
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import asyncio

ONCE_SECONDS = 5.0  # in which a further signal to stop is the same stop, from the terminal and from Snakemake
AGAIN_SECONDS = 0.05  # after which a callback that swallowed an interrupt has returned

OF_JOBS = re.compile(r"\bbeirflow[./]run[./]")
"""Part of the commands of clients, jobs and their worker, and of none of the commands that submit or cancel jobs of a cluster."""

LOOK_AGAIN_SECONDS = 0.1  # after which children are looked for that a thread of this process has started meanwhile

SNAKEMAKE_PID = "BEIRFLOW_SNAKEMAKE_PID"  # environment variable with the process that started a job

PR_SET_PDEATHSIG = 1


def repeat_swallowed_interrupts() -> None:
    """Raise KeyboardInterrupt again in the main thread after one that Python could not deliver."""
    others = sys.unraisablehook

    def repeat(unraisable: "sys.UnraisableHookArgs") -> None:
        """Raise an interrupt again that Python would ignore."""
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            others(unraisable)
            return
        _interrupt_soon()  # what is raised here would be ignored too

    sys.unraisablehook = repeat


def _interrupt_soon() -> None:
    """Raise KeyboardInterrupt in the main thread after ``AGAIN_SECONDS``, or earlier in a callback of its event loop."""
    raised = False

    def interrupt() -> None:
        """Raise KeyboardInterrupt, once."""
        nonlocal raised
        if not raised:
            raised = True
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt

    if loop := _running_loop():
        loop.call_soon_threadsafe(interrupt)
    # A loop that stops first does not call it. A timer takes no lock that the interrupted code may hold; a new thread would.
    signal.signal(signal.SIGALRM, lambda *_: None if _running_loop() else interrupt())
    signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS, AGAIN_SECONDS)
    atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)  # Python ends without handlers, and the timer would kill it


def _running_loop() -> "asyncio.AbstractEventLoop | None":
    if module := sys.modules.get("asyncio"):  # which a job does without
        with suppress(RuntimeError):
            loop: asyncio.AbstractEventLoop = module.get_running_loop()
            return loop
    return None


LISTENERS: list[tuple[int, Callable[[], None]]] = []
"""Signals with the functions that a thread calls on arrival."""


def on_signal(number: int, call: Callable[[], None]) -> None:
    """Call a function in a thread at each signal of a number to this process, unless the process ignores these."""
    LISTENERS.append((number, call))
    if len(LISTENERS) > 1:
        return
    received, sent = os.pipe()
    os.set_blocking(sent, False)
    # The handler stays as it is, since asyncio replaces Python's own by a better one.
    signal.set_wakeup_fd(sent, warn_on_full_buffer=False)

    def wait() -> None:
        """Start the listeners of each signal that arrives."""
        while signals := os.read(received, 100):
            for each, listener in LISTENERS:
                if each in signals:
                    threading.Thread(target=listener, daemon=True).start()  # of which one may not return

    threading.Thread(target=wait, daemon=True).start()


def stop_jobs() -> NoReturn:
    """Ask all jobs that this process started to end, those that begin later too, until this process ends."""
    import psutil

    stopped = set[psutil.Process]()
    while True:
        for child in {*psutil.Process().children()} - stopped:
            with suppress(psutil.Error):
                if OF_JOBS.search(" ".join(child.cmdline())):
                    child.terminate()
                    stopped.add(child)
        time.sleep(LOOK_AGAIN_SECONDS)


def interrupt_once(notice: Callable[[], None] = lambda: None) -> None:
    """Let only the first SIGINT interrupt the main thread: a further one would interrupt the orderly end of this process.

    ``notice`` is called before, since the thread of :func:`on_signal` may come after that end.
    """

    def interrupt(*_: object) -> None:
        """Raise KeyboardInterrupt, once."""
        signal.signal(signal.SIGINT, lambda *_: None)
        notice()
        if not _running_loop():
            raise KeyboardInterrupt
        _interrupt_soon()

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, interrupt)


@contextmanager
def signals_stop_once() -> Iterator[None]:
    """Raise KeyboardInterrupt at SIGTERM and SIGINT while the block runs, but not again while the block cleans up.

    A Ctrl-C reaches a job twice: the terminal sends it, and Snakemake passes it on.
    """
    stopped = -math.inf

    def stop(*_: Any) -> None:
        """Raise KeyboardInterrupt, at most once in ``ONCE_SECONDS``."""
        nonlocal stopped
        if time.monotonic() - stopped >= ONCE_SECONDS:
            stopped = time.monotonic()
            raise KeyboardInterrupt

    # A process in the background of a shell ignores SIGINT.
    numbers = [signal.SIGTERM] if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else [signal.SIGTERM, signal.SIGINT]
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end_with_this_process() -> str:
    """Return a prefix of a shell command, whose job then ends with this process.

    It tells the job who we are, and lets the shell give way to it, so that it is our own child. Of several commands only the
    first would run; a rule has one.
    """
    return f"{SNAKEMAKE_PID}={os.getpid()} exec "


def end_with_snakemake() -> None:
    """Have this process killed when the Snakemake that started it ends, or at once if it has ended already.

    Does nothing in a process that no Snakemake started. SIGKILL, since cleaning up would take time in which the next run begins;
    unfinished files have the names that the next run writes to.
    """
    parent = os.environ.get(SNAKEMAKE_PID)
    if parent is not None and sys.platform == "linux":
        end_with(int(parent))


def end_with(parent: int) -> None:
    """Have this process killed when its parent ends, or at once if that has ended already."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
