"""The load of the machine during a measurement, and the rule by which times are no measurement of a system."""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import psutil

from beirflow.run.job import own_seconds

WORK = ("user", "nice", "system", "irq", "softirq", "steal")
"""Processor times in which a process runs; ``user`` includes guests, and a wait for a disk is no work."""

BUSY_LOAD = 1.5
"""Load average per core above which a machine was busy: a job and Snakemake alone load a core with about 1."""

SLACK = 0.1
"""Share of the machine that other processes may take beyond the cores that a measurement leaves."""

SHORTEST = 2.0
"""Seconds of a measurement from which the processor time of other processes is known: the kernel counts in hundredths."""

IN_WORDS = (
    f"other processes took more than {SLACK:.0%} of the machine beyond the cores that the measurement left, or, if that is "
)
IN_WORDS += f"unknown, the load average was above {BUSY_LOAD:g} per core"


class OtherProcesses:
    """Processor time of other processes from now on."""

    def __init__(self) -> None:
        self._start = _clocks()

    def cores(self) -> float | None:
        """Return how many cores they took on average; None if that was too short to know."""
        elapsed, own, all_processes = (now - then for now, then in zip(_clocks(), self._start, strict=True))
        return max(0.0, all_processes - own) / elapsed if elapsed >= SHORTEST else None


def busy_seconds() -> float:
    """Return the processor time of all processes."""
    times = psutil.cpu_times()
    return sum(getattr(times, name, 0.0) for name in WORK)


def _clocks() -> tuple[float, float, float]:
    """Return seconds that passed, and of processor time those of this process with its children, and of all."""
    own = own_seconds()
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            own += sum(child.cpu_times()[:2])
    return time.perf_counter(), own, busy_seconds()


def load_per_core(record: Mapping[str, Any]) -> float:
    """Return the higher load average of a record of latency, before or after, per core."""
    load = record["load"]
    return float(max(load["before"], load["after"]) / (load["cores"] or 1))


def is_busy(record: Mapping[str, Any]) -> bool:
    """Test whether the latencies of a record were measured while other processes used its cores."""
    load, others = record["load"], record["load"].get("others")
    cores = load["cores"] or 1
    if others is None:
        return load_per_core(record) > BUSY_LOAD
    return bool(others > max(0, cores - record["threads"]) + SLACK * cores)
