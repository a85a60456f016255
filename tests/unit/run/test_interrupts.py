"""An interrupt is not lost where Python ignores exceptions, and counts once; a job ends with the process that started it."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from beirflow.run import interrupts
from beirflow.run.interrupts import SNAKEMAKE_PID, interrupt_once, on_signal, repeat_swallowed_interrupts


class Referent:
    """Something that a weak reference can point at."""


@pytest.fixture
def ignored(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[type[BaseException]]]:
    """Types of the exceptions that Python ignores and nothing repeats."""
    types: list[type[BaseException]] = []
    limit, (seconds, _) = signal.getsignal(signal.SIGALRM), signal.setitimer(signal.ITIMER_REAL, 0)  # of pytest-timeout
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
    monkeypatch.setattr(sys, "unraisablehook", lambda each: types.append(each.exc_type))
    repeat_swallowed_interrupts()
    yield types
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGALRM, limit)
    signal.setitimer(signal.ITIMER_REAL, seconds)


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_in_the_callback_of_a_weak_reference_reaches_who_waits(
    times: int, ignored: list[type[BaseException]]
) -> None:
    for _ in range(times):
        referent = Referent()
        reference = weakref.ref(referent, lambda _: signal.raise_signal(signal.SIGINT))
        del referent
        assert reference() is None
    assert ignored == []
    with pytest.raises(KeyboardInterrupt):  # as the scheduler of Snakemake waits, which would stay there
        threading.Semaphore(0).acquire(timeout=20)
    assert not threading.Semaphore(0).acquire(timeout=0.2)  # once is enough


def test_other_exceptions_are_told_as_before_and_interrupt_nothing(ignored: list[type[BaseException]]) -> None:
    referent = Referent()
    reference = weakref.ref(referent, lambda _: 1 / 0)
    del referent
    assert reference() is None
    assert ignored == [ZeroDivisionError]
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.fixture
def heeded() -> Iterator[None]:
    """SIGINT is heeded, and afterwards as before."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded")
def test_a_second_interrupt_does_not_interrupt_the_orderly_end() -> None:
    noticed: list[int] = []
    interrupt_once(lambda: noticed.append(1))
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert noticed == [1]
    signal.raise_signal(signal.SIGINT)
    assert noticed == [1]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in the background of a shell
    interrupt_once()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.fixture
def runner(heeded: None) -> Iterator[asyncio.Runner]:
    """An event loop that runs again and again, as Snakemake's, in a main thread that one SIGINT interrupts."""
    limit, (seconds, _) = signal.getsignal(signal.SIGALRM), signal.setitimer(signal.ITIMER_REAL, 0)  # of pytest-timeout
    interrupt_once()
    with asyncio.Runner() as runner:
        yield runner
    signal.signal(signal.SIGALRM, limit)
    signal.setitimer(signal.ITIMER_REAL, seconds)


async def interrupted_among_others(done: list[str], seconds: float) -> None:
    """A task that waits for others, of which one is interrupted."""

    async def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append("interrupted")
        await asyncio.sleep(seconds)

    async with asyncio.TaskGroup() as group:
        group.create_task(interrupted())
    done.append("group")


@pytest.mark.parametrize("seconds", [0.2, 20])
def test_an_interrupt_within_a_task_is_raised_once(runner: asyncio.Runner, seconds: float) -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        runner.run(interrupted_among_others(done, seconds))
    assert done == ["interrupted"]
    runner.run(asyncio.sleep(0.4))
    assert done == ["interrupted", *(["group"] if seconds < 1 else [])]  # what waited goes on


def test_an_interrupt_as_the_loop_stops_is_raised_behind_it(runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "AGAIN_SECONDS", 1.0)

    async def ends() -> None:
        if task := asyncio.current_task():
            task.add_done_callback(lambda _: signal.raise_signal(signal.SIGINT))

    runner.run(ends())
    with pytest.raises(KeyboardInterrupt):
        threading.Semaphore(0).acquire(timeout=20)
    runner.run(asyncio.sleep(0.2))


ENDS = """
import asyncio, signal, time
from beirflow.run import interrupts

async def ends():
    asyncio.current_task().add_done_callback(lambda _: signal.raise_signal(signal.SIGINT))

class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(1.5)

slow = Slow()
signal.signal(signal.SIGINT, signal.default_int_handler)
interrupts.AGAIN_SECONDS = 1.0
interrupts.interrupt_once()
asyncio.Runner().run(ends())
"""


def test_an_interrupt_in_the_last_moment_leaves_the_end_of_a_process_as_it_is() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDS], env=ENVIRONMENT, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.usefixtures("heeded")
def test_all_who_listen_to_a_signal_are_called_at_it_and_at_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "LISTENERS", [])
    called = [threading.Event() for _ in range(3)]
    for number, event in zip((signal.SIGINT, signal.SIGINT, signal.SIGTERM), called, strict=True):
        on_signal(number, event.set)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert all(event.wait(20) for event in called[:2])
        assert not called[2].is_set()
    finally:
        signal.set_wakeup_fd(-1)


linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

JOB = (
    "import time; from beirflow.run.interrupts import end_with_snakemake as end; end(); print('runs', flush=True); time.sleep(60)"
)
STARTER = f"""
import shlex, subprocess, sys
from beirflow.run.interrupts import end_with_this_process
subprocess.run(["bash", "-c", end_with_this_process() + sys.executable + " -c " + shlex.quote({JOB!r})])
"""
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(interrupts.__file__).parents[2])}


@linux
def test_a_job_is_killed_with_its_starter_although_a_shell_stood_between() -> None:
    starter = subprocess.Popen([sys.executable, "-c", STARTER], env=ENVIRONMENT, stdout=subprocess.PIPE)
    assert starter.stdout.readline() == b"runs\n"
    starter.kill()
    begun = time.monotonic()
    assert starter.stdout.read() == b""  # ends when the last process that holds the pipe has ended
    assert time.monotonic() - begun < 30


@linux
def test_a_job_whose_starter_has_ended_already_does_not_begin() -> None:
    environment = ENVIRONMENT | {SNAKEMAKE_PID: "1"}
    done = subprocess.run([sys.executable, "-c", JOB], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")
