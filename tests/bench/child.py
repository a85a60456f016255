"""What the children share: how one side reports its own time and memory."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def timed_call() -> Iterator[None]:
    """Time the block and report it, with how far the peak memory rose above what the process held before."""
    before, start = _status_bytes("VmRSS"), time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    report(seconds=seconds, growth=_status_bytes("VmHWM") - before)


def report(**values: Any) -> None:
    """Hand values to the process that measures, as the last line of standard output."""
    sys.stdout.write(json.dumps(values) + "\n")


def _status_bytes(field: str) -> int:
    """A size from the kernel's status of this process; 0 where there is no such file."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), 0)
