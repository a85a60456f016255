"""The energy that the machine used during a job, by its counters; not known if these cannot be read.

RAPL counts what processors and memory use (Linux, ``/sys/class/powercap``; on most machines for root only), NVML what a GPU uses.
Both count the whole machine or GPU, including other processes. ``energy/<job>.tsv``, next to the benchmarks, has one row:
``processor_joules``; ``gpu_joules``, of which the jobs that hold the GPU at a reading have equal parts, 0 if the job had no GPU;
and the seconds of processor time of this job and of all processes during it, ``own_seconds`` and ``busy_seconds``. Unknown values
are empty.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from beirflow.core.errors import BeirflowError
from beirflow.core.writing import atomic_path
from beirflow.evaluation.machine_load import busy_seconds
from beirflow.run.gpus import Gpu
from beirflow.run.job import own_seconds

logger = logging.getLogger(__name__)

EVERY_SECONDS = 10.0  # interval between two readings, since counters wrap around: at 300 W, RAPL's do after some 15 minutes

POWERCAP = Path("/sys/class/powercap")

ZONE = re.compile(r"intel-rapl:\d+(:\d+)?")
"""Folders of RAPL's zones, which AMD's processors have by the same name. ``intel-rapl-mmio`` counts the same again."""

COUNTED = re.compile(r"package-\d+(-die-\d+)?|dram")
PART_OF_OTHERS = re.compile(r"core|uncore|psys")  # zones that are part of a package, and the one that packages are part of

MOST_WATTS = 1000.0
"""More than any zone uses: a counter that grew faster, or was read so late that it may have gone round unseen, is not known."""

LATE_SECONDS = 0.1  # by which a counter may lag behind: two readings in a row can have the energy of a whole update between them

UNITS = 1e6  # units of a counter in a joule


class UnknownEnergyError(Exception):
    """A counter's energy is unknown, for the stated reason."""


@dataclass
class Counter:
    """A counter of microjoules that only grows."""

    name: str  # what it counts
    read: Callable[[], int]  # gives its value; raises OSError or ValueError where it cannot
    around: int = 0  # the value after which it begins again at 0, or 0 where it never does
    # counts the jobs that share it, which have equal parts; raises OSError or BeirflowError where it cannot
    jobs: Callable[[], int] | None = None

    def __post_init__(self) -> None:
        self._value, self._time, self.total = self._read(), time.monotonic(), 0.0

    def _read(self) -> int:
        try:
            return self.read()
        except (OSError, ValueError) as error:
            raise UnknownEnergyError(f"{self.name} cannot be read: {error}") from None

    def advance(self) -> None:
        """Add what was used since the last reading to ``total``.

        Raises UnknownEnergyError if it cannot be read, went back, grew by more than a zone can use in that time, or may have gone
        round more than once.
        """
        value, now = self._read(), time.monotonic()
        gap, grown = now - self._time, value - self._value
        if self.around and gap * MOST_WATTS * UNITS > self.around:
            raise UnknownEnergyError(
                f"{self.name} was not read for {gap:.0f} s, in which it may have wrapped around more than once"
            )
        # It may begin again at 0 once; any other way back is a fault.
        if grown < 0 and not 0 <= value <= self._value <= self.around:
            raise UnknownEnergyError(f"{self.name} went back from {self._value} to {value}")
        used = grown if grown >= 0 else grown + self.around + 1
        # A counter that was reset, or went back a little, looks as if it had gone nearly all the way round.
        if self.around and used > (gap + LATE_SECONDS) * MOST_WATTS * UNITS:
            way = "went back" if grown < 0 else "grew"
            change = f"{way} from {self._value} to {value} within {gap:.1f} s"
            raise UnknownEnergyError(f"{self.name} {change}, which is more than {MOST_WATTS:g} W as growth")
        try:
            jobs = self.jobs() if self.jobs else 1
        except (OSError, BeirflowError) as error:
            raise UnknownEnergyError(f"the jobs that share {self.name} cannot be counted: {error}") from None
        self.total += used / max(1, jobs)
        self._value, self._time = value, now


def rapl_counters(powercap: Path = POWERCAP) -> list[Counter]:
    """Return the counters of all processors, and of the memory where it has some, from the folder of the kernel's zones.

    Raises UnknownEnergyError if there are none, one may not be read, or a zone is not understood.
    """
    counters = []
    for zone in (each for each in sorted(powercap.glob("intel-rapl:*")) if ZONE.fullmatch(each.name)):
        try:
            name = (zone / "name").read_text().strip()
            around = _number_in(zone / "max_energy_range_uj") if COUNTED.fullmatch(name) else None
        except (OSError, ValueError) as error:
            raise UnknownEnergyError(f"{zone} cannot be read: {error}") from None
        if around is not None:
            counters.append(Counter(f"RAPL's {name} ({zone.name})", partial(_number_in, zone / "energy_uj"), around))
        elif not PART_OF_OTHERS.fullmatch(name):
            raise UnknownEnergyError(f"{zone} is a zone called {name!r}, which may be part of another or not")
    if not any("package-" in counter.name for counter in counters):
        raise UnknownEnergyError(f"the machine has no counter of its processors in {powercap}")
    return counters


def _number_in(path: Path) -> int:
    return int(path.read_text())


def gpu_counter(gpu: Gpu | None, jobs: Callable[[], int] | None = None) -> Counter:
    """Return the counter of a GPU, which ``jobs`` share; None for a GPU of which nothing is known.

    Raises UnknownEnergyError if it has none, is a part of a GPU, or NVML is not installed.
    """
    if gpu is None or gpu.card != gpu.uuid or not gpu.uuid.startswith("GPU-"):
        raise UnknownEnergyError(f"{gpu or 'the GPU'} has no counter of its own")
    try:
        import pynvml  # not above: most jobs have no GPU
    except ImportError as error:
        raise UnknownEnergyError(f"NVML cannot be asked for {gpu}: {error}") from None

    def read() -> int:
        """Return the microjoules that the GPU has used."""
        try:
            return pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) * 1000  # of millijoules
        except pynvml.NVMLError as error:
            raise ValueError(f"NVML: {error}") from None

    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(gpu.uuid)
    except pynvml.NVMLError as error:
        raise UnknownEnergyError(f"NVML cannot be asked for {gpu}: {error}") from None
    return Counter(str(gpu), read, jobs=jobs)


class Meter:
    """Counter of energy and processor time from now on; ``powercap`` is the folder of the kernel's zones."""

    def __init__(self, powercap: Path = POWERCAP) -> None:
        self._lock, self._counters, self.unknown = threading.Lock(), {"gpu": list[Counter]()}, dict[str, str]()
        self._add("processor", lambda: rapl_counters(powercap))
        self._gpus: list[Gpu | None] = []
        self._own, self._busy = own_seconds(), busy_seconds()

    def count_gpu(self, gpu: Gpu | None, jobs: Callable[[], int] | None = None) -> None:
        """Count a GPU too, from now on, once, which ``jobs`` share; None for one of which nothing is known."""
        if gpu not in self._gpus:
            self._gpus.append(gpu)
            self._add("gpu", lambda: [gpu_counter(gpu, jobs)])

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
            # A counter that does not move is broken: no machine uses nothing.
            still = [counter.name for counter in counters if not counter.total]
            if still and kind not in self.unknown:
                self.unknown[kind] = f"{still[0]} counts nothing"
        return {
            **{f"{kind}_joules": self._joules(kind) for kind in ("processor", "gpu")},
            "own_seconds": own_seconds() - self._own,
            "busy_seconds": busy_seconds() - self._busy,
        }

    def _joules(self, kind: str) -> float | None:
        return None if kind in self.unknown else sum(counter.total for counter in self._counters[kind]) / UNITS


_meters: list[Meter] = []  # the meter of the job of this process, if it is one


def count_gpu(gpu: Gpu | None, jobs: Callable[[], int] | None = None) -> None:
    """Count the energy of a GPU, of which ``jobs`` have equal parts, as that of the job, from now on; None for an unknown one."""
    for meter in _meters:
        meter.count_gpu(gpu, jobs)


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
        """Advance the meter until the job ends."""
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
