"""Interrupts that are not lost: a Ctrl-C counts wherever it falls.

Python raises KeyboardInterrupt in whatever the main thread runs at that moment. In a finalizer or the callback of a weak
reference it cannot reach the caller: Python prints "Exception ignored in" and goes on, and so does the run.
"""

import signal
import sys

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
