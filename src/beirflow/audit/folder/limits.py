"""Limits of memory and processor time for reading untrusted files, whatever they unpack to (Linux)."""

import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

MEMORY = 3 << 28  # bytes that reading may take beyond the size of the folder
SECONDS, BYTES_A_SECOND = 300, 10_000_000  # processor time that reading may take beyond that of the folder's bytes
STATUS = Path("/proc/self/status")


class LimitError(Exception):
    """Reading took too long."""


class Limits:
    """Limits for reading a folder of ``size`` bytes, in a ``with`` block; errors are MemoryError and :class:`LimitError`."""

    def __init__(self, size: int) -> None:
        self.memory, self.seconds = MEMORY + size, SECONDS + size // BYTES_A_SECOND

    def __enter__(self) -> "Limits":
        self._before, self._pool = resource.getrlimit(resource.RLIMIT_DATA), pa.default_memory_pool()
        pa.set_memory_pool(pa.system_memory_pool())  # others of Arrow take memory that the limit does not count
        self._alarm = None
        if threading.current_thread() is threading.main_thread():
            self._alarm = signal.signal(signal.SIGPROF, self._too_long)
            signal.setitimer(signal.ITIMER_PROF, self.seconds, self.seconds)
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        pa.set_memory_pool(self._pool)
        if self._alarm is not None:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, self._alarm)

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Lift both limits in the block, to compute with a model of the auditor."""
        self._end()
        left = signal.setitimer(signal.ITIMER_PROF, 0)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, *left)
            self._begin()

    def _begin(self) -> None:
        hard = self._before[1]
        if STATUS.is_file():
            taken = next(int(line.split()[1]) << 10 for line in STATUS.read_text().splitlines() if line.startswith("VmData"))
            most = taken + self.memory
            resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))

    def _end(self) -> None:
        resource.setrlimit(resource.RLIMIT_DATA, self._before)

    def _too_long(self, *_: object) -> None:
        raise LimitError(f"reading exceeds {self.seconds:,} s of processor time, which is enough for files of this size")
