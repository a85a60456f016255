"""The energy that the machine used during a job, by its counters; not known if these cannot be read.

RAPL counts what processors and memory use (Linux, ``/sys/class/powercap``; on most machines for root only), NVML what a GPU uses.
Both count the whole machine or GPU, including other processes. ``energy/<job>.tsv`` beside the benchmarks has one row:
``processor_joules``; ``gpu_joules``, 0 if the job had no GPU; and the seconds of processor time of this job and of all
processes during it, ``own_seconds`` and ``busy_seconds``. Unknown values are empty.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from beirflow.files.writing import atomic_path
from beirflow.jobs.energy_counters import POWERCAP, UNITS, Counter, UnknownEnergyError, gpu_counter, rapl_counters
from beirflow.jobs.gpus import Gpu

logger = logging.getLogger(__name__)

EVERY_SECONDS = 10.0
"""Interval between two readings, since counters wrap around: at 300 W, RAPL's do after some 15 minutes."""

WORK = ("user", "nice", "system", "irq", "softirq", "steal")
"""Processor times in which a process runs; ``user`` includes guests, and a wait for a disk is no work."""


class Meter:
    """Counter of energy and processor time from now on; ``powercap`` is the folder of the kernel's zones."""

    def __init__(self, powercap: Path = POWERCAP) -> None:
        self._lock, self._counters, self.unknown = threading.Lock(), {"gpu": list[Counter]()}, dict[str, str]()
        self._add("processor", lambda: rapl_counters(powercap))
        self._gpus: list[Gpu | None] = []
        self._own, self._busy = _own_seconds(), _busy_seconds()

    def count_gpu(self, gpu: Gpu | None) -> None:
        """Count a GPU too, from now on, once; None for one of which nothing is known."""
        if gpu not in self._gpus:
            self._gpus.append(gpu)
            self._add("gpu", lambda: [gpu_counter(gpu)])

    def _add(self, kind: str, find: Callable[[], list[Counter]]) -> None:
        with self._lock:
            try:
                self._counters.setdefault(kind, []).extend(find())
            except UnknownEnergyError as error:
                self.unknown[kind] = str(error)

    def advance(self) -> None:
        """Read all counters."""
        with self._lock:
            for kind, counters in self._counters.items():
                try:
                    for counter in counters if kind not in self.unknown else ():
                        counter.advance()
                except UnknownEnergyError as error:
                    self.unknown[kind] = str(error)

    def row(self) -> dict[str, float | None]:
        """Return the values counted since the beginning, by column of the file."""
        self.advance()
        for kind, counters in self._counters.items():
            still = [counter.name for counter in counters if not counter.total]
            if still and kind not in self.unknown:
                self.unknown[kind] = f"{still[0]} counts nothing"
        return {
            **{f"{kind}_joules": self._joules(kind) for kind in ("processor", "gpu")},
            "own_seconds": _own_seconds() - self._own,
            "busy_seconds": _busy_seconds() - self._busy,
        }

    def _joules(self, kind: str) -> float | None:
        return None if kind in self.unknown else sum(counter.total for counter in self._counters[kind]) / UNITS


def _own_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def _busy_seconds() -> float:
    """Return the processor time of all processes."""
    times = psutil.cpu_times()
    return sum(getattr(times, name, 0.0) for name in WORK)


_meters: list[Meter] = []
"""The meter of the job of this process, if it is one."""


def count_gpu(gpu: Gpu | None) -> None:
    """Count the energy of a GPU as that of the job, from now on; None for a GPU of which nothing is known."""
    for meter in _meters:
        meter.count_gpu(gpu)


@contextmanager
def metered(path: Path) -> Iterator[None]:
    """Count energy while the block runs, and write it to ``energy/<job>.tsv`` once the block has done its work.

    An earlier file is removed first. A disk that refuses the file costs the energy and nothing else.
    """
    with suppress(OSError):
        path.unlink(missing_ok=True)
    meter, ended = Meter(), threading.Event()
    _meters[:] = [meter]

    def watch() -> None:
        while not ended.wait(EVERY_SECONDS):
            meter.advance()

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        _meters.clear()
    row = meter.row()
    for kind, reason in meter.unknown.items():
        logger.info("energy of the %s: not known, since %s", kind, reason)
    with suppress(OSError), atomic_path(path) as partial:
        values = ("" if value is None else f"{value:.6g}" for value in row.values())
        partial.write_text("\t".join(row) + "\n" + "\t".join(values) + "\n", encoding="utf-8")
