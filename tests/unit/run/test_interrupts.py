"""An interrupt is not lost where Python ignores exceptions."""

import signal
import sys
import threading
import weakref
from collections.abc import Iterator

import pytest

from beirflow.run.interrupts import repeat_swallowed_interrupts


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
