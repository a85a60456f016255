"""Counters of energy: RAPL's of processors and memory, NVML's of a GPU."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from beirflow.jobs.gpus import Gpu

POWERCAP = Path("/sys/class/powercap")

ZONE = re.compile(r"intel-rapl:\d+(:\d+)?")
"""Folders of RAPL's zones, which AMD's processors have by the same name. ``intel-rapl-mmio`` counts the same again."""

COUNTED = re.compile(r"package-\d+(-die-\d+)?|dram")
PART_OF_OTHERS = re.compile(r"core|uncore|psys")
"""Zones that are part of a package, and the one that packages are part of."""

MOST_WATTS = 1000.0
"""More than any zone uses: a counter that is read so late that it could have wrapped around unseen is not known."""

UNITS = 1e6
"""Units of a counter in a joule."""


class UnknownEnergyError(Exception):
    """A counter's energy is unknown, for the stated reason."""


@dataclass
class Counter:
    """A counter of microjoules that only grows.

    Attributes:
        name: What it counts.
        read: Gives its value; raises OSError or ValueError where it cannot.
        around: The value after which it begins again at 0, or 0 where it never does.
    """

    name: str
    read: Callable[[], int]
    around: int = 0

    def __post_init__(self) -> None:
        """The first reading."""
        self._value, self._time, self.total = self._read(), time.monotonic(), 0

    def _read(self) -> int:
        try:
            return self.read()
        except (OSError, ValueError) as error:
            raise UnknownEnergyError(f"{self.name} cannot be read: {error}") from None

    def advance(self) -> None:
        """Add what was used since the last reading to ``total``.

        Raises UnknownEnergyError if it cannot be read, went back, or may have gone round more than once.
        """
        value, now = self._read(), time.monotonic()
        gap, grown = now - self._time, value - self._value
        if self.around and gap * MOST_WATTS * UNITS > self.around:
            raise UnknownEnergyError(
                f"{self.name} was not read for {gap:.0f} s, in which it may have wrapped around more than once"
            )
        if grown < 0 and not 0 <= value <= self._value <= self.around:
            raise UnknownEnergyError(f"{self.name} went back from {self._value} to {value}")
        self.total += grown if grown >= 0 else grown + self.around + 1
        self._value, self._time = value, now


def rapl_counters(powercap: Path = POWERCAP) -> list[Counter]:
    """Return the counters of all processors, and of the memory where it has some, from the folder of the kernel's zones.

    Raises UnknownEnergyError if there are none, one may not be read, or a zone is not understood.
    """
    counters = []
    for zone in sorted(powercap.glob("intel-rapl:*")) if powercap.is_dir() else ():
        if not ZONE.fullmatch(zone.name):
            continue
        name = _text(zone / "name")
        if COUNTED.fullmatch(name):
            counters.append(_rapl_counter(f"RAPL's {name} ({zone.name})", zone))
        elif not PART_OF_OTHERS.fullmatch(name):
            raise UnknownEnergyError(f"{zone} is a zone called {name!r}, which may be part of another or not")
    if not any("package-" in counter.name for counter in counters):
        raise UnknownEnergyError(f"the machine has no counter of its processors in {powercap}")
    return counters


def _rapl_counter(name: str, zone: Path) -> Counter:
    try:
        around = int(_text(zone / "max_energy_range_uj"))
    except ValueError as error:
        raise UnknownEnergyError(f"{name}: {error}") from None
    return Counter(name, lambda: int((zone / "energy_uj").read_text()), around)


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UnknownEnergyError(f"{path} cannot be read: {error}") from None


def gpu_counter(gpu: Gpu | None) -> Counter:
    """Return the counter of a GPU; None for a GPU of which nothing is known.

    Raises UnknownEnergyError if it has none, is a part of a GPU, or NVML is not installed.
    """
    if gpu is None or gpu.card != gpu.uuid or not gpu.uuid.startswith("GPU-"):
        raise UnknownEnergyError(f"{gpu or 'the GPU'} has no counter of its own")
    try:
        import pynvml  # not above: most jobs have no GPU
    except ImportError as error:
        raise UnknownEnergyError(f"NVML cannot be asked for {gpu}: {error}") from None

    def read() -> int:
        try:
            return pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) * 1000  # of millijoules
        except pynvml.NVMLError as error:
            raise ValueError(f"NVML: {error}") from None

    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(gpu.uuid)
    except pynvml.NVMLError as error:
        raise UnknownEnergyError(f"NVML cannot be asked for {gpu}: {error}") from None
    return Counter(str(gpu), read)
