"""Jobs that hold the right to write for some seconds before they go on, so that a test finds them there."""

import fcntl
import time
from typing import Any

HELD_SECONDS = 3
RUN_BYTE = 0

lock = fcntl.lockf


def lock_and_wait(descriptor: int, operation: int, length: int = 0, start: int = 0, *whence: Any) -> None:
    """Lock as before, and wait where the lock is that of a job: a byte alone, which is not that of the run."""
    lock(descriptor, operation, length, start, *whence)
    if operation & fcntl.LOCK_EX and length == 1 and start > RUN_BYTE:
        time.sleep(HELD_SECONDS)


fcntl.lockf = lock_and_wait
