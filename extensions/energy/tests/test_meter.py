"""The energy of a job, by a tree of counters like the kernel's; what cannot be known for certain is not known."""

import ctypes
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from beirflow.extensions.energy import meter as energy
from beirflow.extensions.energy.meter import Counter, Meter, UnknownEnergyError, count_gpu, gpu_counter, metered
from beirflow.run.gpus import Gpu
from beirflow.run.job import job

AROUND = 262_143_328_850
"""Microjoules after which the counter of a package begins again on most machines."""

GPU = Gpu(0, "Fake H100", "GPU-1", "GPU-1", "0")


def zone(powercap: Path, folder: str, name: str, value: int | str = 1000, around: int = AROUND) -> Path:
    path = powercap / folder
    path.mkdir(parents=True)
    for file, content in (("name", name), ("energy_uj", value), ("max_energy_range_uj", around)):
        (path / file).write_text(f"{content}\n")
    return path / "energy_uj"


@pytest.fixture
def powercap(tmp_path: Path) -> Path:
    """Two processors with what is part of them, memory, and what holds it all."""
    folder = tmp_path / "powercap"
    for number in (0, 1):
        zone(folder, f"intel-rapl:{number}", f"package-{number}")
        zone(folder, f"intel-rapl:{number}:0", "core")
        zone(folder, f"intel-rapl:{number}:1", "uncore")
    zone(folder, "intel-rapl:1:2", "dram")
    zone(folder, "intel-rapl:2", "psys")
    zone(folder, "intel-rapl-mmio:0", "package-0")
    (folder / "intel-rapl").mkdir()
    (folder / "dtpm").mkdir()
    return folder


def put(path: Path, value: int) -> None:
    """Set a counter, which has one value or another at any time, as the kernel's."""
    path.with_name("next").write_text(f"{value}\n")
    path.with_name("next").replace(path)


def grow(powercap: Path, joules: float = 1.0) -> None:
    for path in powercap.glob("*/energy_uj"):
        put(path, int(path.read_text()) + int(joules * 1e6))


def test_processors_and_memory_are_counted_once_and_a_counter_that_begins_again_goes_on(powercap: Path) -> None:
    path = powercap / "intel-rapl:0/energy_uj"
    path.write_text(str(AROUND - 400_000))
    meter = Meter(powercap)
    grow(powercap)
    path.write_text(str(600_000 - 1))
    assert meter.row()["processor_joules"] == pytest.approx(3)
    grow(powercap, 2.5)
    assert meter.row()["processor_joules"] == pytest.approx(3 + 3 * 2.5)
    assert meter.row()["gpu_joules"] == 0
    assert meter.unknown == {}


def test_a_machine_without_counters_has_no_energy_and_no_fault(tmp_path: Path) -> None:
    meter = Meter(tmp_path / "nothing")
    assert meter.row()["processor_joules"] is None
    assert "no counter of its processors" in meter.unknown["processor"]
    meter = Meter()  # that of this machine, whatever it has
    assert (meter.row()["processor_joules"] is None) == bool(meter.unknown.get("processor"))


@pytest.mark.parametrize(
    ("file", "content"),
    [("0/name", "mystery-0\n"), ("0/max_energy_range_uj", "\n"), ("1/energy_uj", ""), ("1:2/energy_uj", "unknown\n")],
)
def test_what_is_not_understood_or_cannot_be_read_is_not_known(powercap: Path, file: str, content: str) -> None:
    before = Meter(powercap)
    (powercap / f"intel-rapl:{file}").unlink()
    if content:
        (powercap / f"intel-rapl:{file}").write_text(content)
    assert Meter(powercap).row()["processor_joules"] is None
    if file.endswith("energy_uj"):  # while the job runs
        for path in powercap.glob("intel-rapl:0*/energy_uj"):
            path.write_text("2000000")
        assert before.row()["processor_joules"] is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_counters_for_root_only_are_not_known(powercap: Path) -> None:
    (powercap / "intel-rapl:0/energy_uj").chmod(0)
    meter = Meter(powercap)
    assert meter.row()["processor_joules"] is None
    assert "Permission denied" in meter.unknown["processor"]


def test_a_counter_that_stands_still_or_goes_back_is_not_known(powercap: Path) -> None:
    meter = Meter(powercap)
    grow(powercap)
    (powercap / "intel-rapl:1:2/energy_uj").write_text("1000")
    assert meter.row()["processor_joules"] is None
    assert meter.unknown["processor"] == "RAPL's dram (intel-rapl:1:2) counts nothing"
    back = Counter("x", iter([5, 4]).__next__)
    with pytest.raises(UnknownEnergyError, match="x went back from 5 to 4"):
        back.advance()


def test_a_counter_that_may_have_gone_round_unseen_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(energy.time, "monotonic", lambda: now[0])
    counter = Counter("x", iter([5, 50_000_000, 60_000_000]).__next__, around=100_000_000)
    now[0] += 0.09
    counter.advance()
    assert counter.total == 50_000_000 - 5
    now[0] += 0.11  # with 1,000 W a hundred joules
    with pytest.raises(UnknownEnergyError, match="may have wrapped around more than once"):
        counter.advance()


@pytest.mark.parametrize(
    ("first", "second", "seconds", "joules"),
    [
        (3_000, 2_000, 1.0, None),  # a step back of a millijoule, which a wrap-around would make 262,143 J
        (150_000_000_000, 0, 10.0, None),  # reset: 112 kJ in ten seconds
        (1_000, 11_000_000_000, 10.0, None),  # forward by 1,100 W
        (1_000, 9_000_001_000, 10.0, 9_000.0),  # by 900 W
        (AROUND - 2_000_000_000, 999_999_999, 10.0, 3_000.0),  # a true wrap-around by 300 W
        (1_000, 5_001_000, 1e-6, 5.0),  # two readings in a row, with an update of the counter between them
    ],
)
def test_a_change_that_no_processor_can_use_since_the_last_reading_is_not_known(
    first: int, second: int, seconds: float, joules: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(energy.time, "monotonic", lambda: now[0])
    counter = Counter("x", iter([first, second]).__next__, around=AROUND)
    now[0] += seconds
    if joules is None:
        with pytest.raises(
            UnknownEnergyError, match=f"from {first} to {second} within {seconds:.1f} s, which is more than 1000 W"
        ):
            counter.advance()
        assert counter.total == 0
    else:
        counter.advance()
        assert counter.total / 1e6 == pytest.approx(joules)


def test_counters_are_read_while_a_long_job_runs(tmp_path: Path, powercap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "EVERY_SECONDS", 0.01)
    monkeypatch.setattr(energy, "LATE_SECONDS", 1000.0)  # so that these jumps may be of one update
    monkeypatch.setattr(energy, "Meter", lambda: Meter(powercap))
    path = tmp_path / "energy/rule/job.tsv"
    with metered(path):
        for _ in range(3):  # each time nearly all the way round
            current = int((powercap / "intel-rapl:0/energy_uj").read_text())
            grow(powercap)
            put(powercap / "intel-rapl:0/energy_uj", (current + AROUND - 10) % (AROUND + 1))
            time.sleep(0.1)
    row = dict(zip(*(line.split("\t") for line in path.read_text().splitlines()), strict=True))
    assert list(row) == ["processor_joules", "gpu_joules", "own_seconds", "busy_seconds"]
    assert float(row["processor_joules"]) == pytest.approx(3 * (AROUND - 10) / 1e6 + 6, rel=1e-5)
    assert float(row["own_seconds"]) >= 0


def test_a_job_that_fails_has_no_energy_nor_that_of_an_earlier_attempt_and_a_disk_fails_no_job(tmp_path: Path) -> None:
    path = tmp_path / "job.tsv"
    path.write_text("earlier")
    with pytest.raises(FileNotFoundError), metered(path):
        path.read_text()
    assert not path.exists()
    path.write_text("a file where the folder would be")
    with metered(path / "job.tsv"):
        pass


def test_a_gpu_is_counted_once_if_it_is_known(tmp_path: Path, powercap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = iter(range(0, 100_000_000, 7_000_000))
    monkeypatch.setattr(energy, "gpu_counter", lambda gpu, jobs: Counter(str(gpu), values.__next__, jobs=jobs))
    meter = Meter(powercap)
    meter.count_gpu(GPU)
    meter.count_gpu(GPU)
    assert meter.row()["gpu_joules"] == 7
    # Two jobs side by side, and then one alone, add up to what the GPU used: 7 J a reading, of which each has a half.
    shared, holders = Meter(powercap), iter((2, 1))
    shared.count_gpu(GPU, holders.__next__)
    shared.advance()
    assert shared.row()["gpu_joules"] == 7 / 2 + 7
    lost = Meter(powercap)
    lost.count_gpu(GPU, lambda: (tmp_path / "no locks").stat().st_size)
    lost.advance()
    assert "jobs that share" in lost.unknown["gpu"]
    monkeypatch.undo()
    monkeypatch.setattr(energy, "Meter", lambda: Meter(powercap))
    with metered(tmp_path / "job.tsv"):
        count_gpu(None)
        grow(powercap)
    assert (tmp_path / "job.tsv").read_text().splitlines()[1].startswith("3\t\t")


class FakeNvml:
    """The functions of NVML's library that are asked, for a GPU that has used two joules more at each question."""

    def __init__(self) -> None:
        self.millijoules, self.broken = 5_000, False

    def nvmlInitWithFlags(self, flags: int) -> int:  # noqa: N802
        return flags

    def nvmlDeviceGetHandleByUUID(self, uuid: ctypes.c_char_p, handle: Any) -> int:  # noqa: N802
        return pynvml.NVML_SUCCESS if uuid.value == GPU.uuid.encode() else pynvml.NVML_ERROR_NOT_FOUND

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: Any, millijoules: Any) -> int:  # noqa: N802
        self.millijoules += 2_000
        millijoules._obj.value = self.millijoules
        return pynvml.NVML_ERROR_GPU_IS_LOST if self.broken else pynvml.NVML_SUCCESS


def test_a_gpu_is_counted_by_nvml_until_it_gives_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeNvml()
    monkeypatch.setattr(pynvml, "nvmlLib", None)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    monkeypatch.setattr(pynvml, "CDLL", {"libnvidia-ml.so.1": fake}.__getitem__)
    counter = gpu_counter(GPU)
    counter.advance()
    assert counter.total == 2_000_000
    with pytest.raises(UnknownEnergyError, match=r"GPU-other.*Not Found"):
        gpu_counter(Gpu(1, "Fake H100", "GPU-other", "GPU-other", "1"))
    fake.broken = True
    with pytest.raises(UnknownEnergyError, match=r"Fake H100.*cannot be read: NVML: GPU is lost"):
        counter.advance()


@pytest.mark.parametrize("gpu", [None, Gpu(0, "H100 MIG 1g", "MIG-2", "GPU-1", "MIG-2"), GPU])
def test_a_part_of_a_gpu_and_one_that_nvml_does_not_know_have_no_counter(gpu: Gpu | None) -> None:
    with pytest.raises(UnknownEnergyError):
        gpu_counter(gpu)


def test_a_job_that_makes_something_counts_its_energy_and_one_that_looks_writes_nothing(tmp_path: Path) -> None:
    for name, output in (("evaluate_run", ["x"]), ("audit", [])):
        log = tmp_path / f"results/logs/{name}.log"
        with job(SimpleNamespace(log=[str(log)], wildcards=[], params={}, output=output)):
            pass
    found = sorted(path.relative_to(tmp_path).as_posix() for path in (tmp_path / "results/energy").rglob("*"))
    assert found == ["results/energy/evaluate_run.tsv"]
