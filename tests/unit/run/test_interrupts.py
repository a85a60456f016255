"""An interrupt is not lost where Python ignores exceptions, and counts once; a job ends with the process that started it."""

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
