"""Interrupts that are not lost: a Ctrl-C counts wherever it falls, once.

Python raises KeyboardInterrupt in whatever the main thread runs at that moment. In a finalizer or the callback of a weak
reference it cannot reach the caller: Python prints "Exception ignored in" and goes on, and so does the run.
"""

import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

ONCE_SECONDS = 5.0  # in which a further signal to stop is the same stop, from the terminal and from Snakemake
AGAIN_SECONDS = 0.05  # after which a callback that swallowed an interrupt has returned


def repeat_swallowed_interrupts() -> None:
    """Raise KeyboardInterrupt in the main thread again after one that Python could not hand on."""
    others = sys.unraisablehook

    def repeat(unraisable: "sys.UnraisableHookArgs") -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            others(unraisable)
            return
        # What is raised here would be ignored too. A timer takes no lock that the interrupted code may hold; a new thread would.
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)

    sys.unraisablehook = repeat


LISTENERS: list[tuple[int, Callable[[], None]]] = []
"""Signals with what is called in a thread when they come."""


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
        while signals := os.read(received, 100):
            for each, listener in LISTENERS:
                if each in signals:
                    threading.Thread(target=listener, daemon=True).start()  # of which one may not return

    threading.Thread(target=wait, daemon=True).start()


def interrupt_once() -> None:
    """Let only the first SIGINT interrupt the main thread: a further one would interrupt the orderly end of this process."""

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, lambda *_: None)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, interrupt)


@contextmanager
def signals_stop_once() -> Iterator[None]:
    """Raise KeyboardInterrupt at SIGTERM and SIGINT while the block runs, but not again while the block cleans up.

    A Ctrl-C reaches a job twice: the terminal sends it, and Snakemake passes it on.
    """
    stopped = -math.inf

    def stop(*_: Any) -> None:
        nonlocal stopped
        if monotonic() - stopped >= ONCE_SECONDS:
            stopped = monotonic()
            raise KeyboardInterrupt

    # A process in the background of a shell ignores SIGINT.
    numbers = [signal.SIGTERM] if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else [signal.SIGTERM, signal.SIGINT]
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
