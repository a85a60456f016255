"""GPUs of a machine, and those that CUDA_VISIBLE_DEVICES leaves."""

import logging
from pathlib import Path

import pytest

from beirflow.core.errors import DeviceError
from beirflow.run.gpus import jobs_that_fit, list_gpus, memory_in_use, visible_gpus
from fake_gpus import LISTED, UUIDS, install_nvidia_smi

MIG = [f"MIG-{digit * 8}-0000-0000-0000-000000000000" for digit in "ef"]
DIVIDED = f"{LISTED}  MIG 3g.40gb     Device  0: (UUID: {MIG[0]})\n  MIG 1g.10gb     Device  1: (UUID: {MIG[1]})\n"
LOST = "Unable to determine the device handle for GPU 0000:0B:00.0: GPU is lost.  Reboot the system to recover this GPU\n"


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of a machine with four GPUs; what ``nvidia-smi -L`` prints stands in ``listed``."""
    for name, value in install_nvidia_smi(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path


def test_gpus_are_listed_with_what_names_them(machine: Path) -> None:
    gpus = list_gpus()
    assert [(gpu.index, gpu.uuid, gpu.visible) for gpu in gpus] == [(i, uuid, uuid) for i, uuid in enumerate(UUIDS)]
    assert str(gpus[2]) == f"GPU 2 (Fake H100, {UUIDS[2]})"
    # A number stays a number, because the order of CUDA may be another.
    assert [(gpu.uuid, gpu.visible) for gpu in visible_gpus(gpus, "2")] == [(UUIDS[2], "2")]
    assert memory_in_use(gpus[0]) == "70000 MiB of its 80000 MiB are in use; process 4711 (/usr/bin/python3) has 69000 MiB"
    program = machine / "bin/nvidia-smi"
    program.write_text(program.read_text().replace("70000 MiB, 80000 MiB", "[N/A], [N/A]"))
    assert memory_in_use(gpus[0]) == ""


def test_instances_stand_in_place_of_the_gpu_that_is_divided(machine: Path) -> None:
    (machine / "listed").write_text(DIVIDED)
    gpus = list_gpus()
    assert [gpu.uuid for gpu in gpus] == [*UUIDS[:3], *MIG]
    assert str(gpus[3]) == f"GPU 3 (Fake H100 MIG 3g.40gb, {MIG[0]})"
    assert [gpu.visible for gpu in visible_gpus(gpus, f"{MIG[1]},MIG-eee")] == [MIG[1], MIG[0]]
    assert [gpu.visible for gpu in visible_gpus(gpus, UUIDS[3])] == [MIG[0]]
    assert [gpu.visible for gpu in visible_gpus(gpus, "MIG-GPU-dd/1/0")] == ["MIG-GPU-dd/1/0"]


@pytest.mark.parametrize(
    ("memory", "jobs"), [("81559 MiB", 2), ("40960 MiB", 2), ("24564 MiB", 1), ("[N/A]", 1), ("Unable to determine", 1)]
)
def test_two_jobs_share_a_whole_gpu_where_its_memory_is_ample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: str, jobs: int
) -> None:
    for name, value in install_nvidia_smi(tmp_path, DIVIDED, memory=memory).items():
        monkeypatch.setenv(name, value)
    # Of an instance, nvidia-smi gives the memory of the whole GPU.
    assert [jobs_that_fit(gpu) for gpu in list_gpus()] == [jobs, jobs, jobs, 1, 1]


VISIBLE: list[tuple[str | None, list[int]]] = [
    *[(None, [0, 1, 2, 3]), ("", []), ("-1", []), ("NoDevFiles", []), ("2", [2]), ("2,1", [2, 1]), (" 3, 0", [3, 0])],
    *[("0,2,-1,1", [0, 2]), ("1,,2", [1]), ("0,7,1", [0]), ("GPU-d,GPU-aaaa", [3, 0]), ("GPU-b,GPU-x", [1])],
    *[(UUIDS[1], [1]), (f"{UUIDS[3]},1", [3]), (f"1,{UUIDS[3]}", [1])],
]


@pytest.mark.parametrize(("wanted", "indices"), VISIBLE)
def test_cuda_visible_devices_is_read_as_cuda_reads_it(wanted: str | None, indices: list[int]) -> None:
    assert [gpu.index for gpu in visible_gpus(list_gpus(), wanted)] == indices


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("4", r"CUDA_VISIBLE_DEVICES=4 names the GPU 4, which is not there; nvidia-smi shows 0, 1, 2, 3; `nvidia-smi -L`"),
        ("GPU-x", "names the GPU GPU-x, which is not there"),
        ("GPU-", "names the GPU GPU-, which is not there"),
        ("1,1", "CUDA_VISIBLE_DEVICES=1,1 names a GPU twice"),
        ("GPU-a,GPU-aa", "names a GPU twice"),
    ],
)
def test_a_name_that_leaves_no_gpu_is_an_error_and_no_slow_run_on_the_cpu(wanted: str, message: str) -> None:
    with pytest.raises(DeviceError, match=message):
        visible_gpus(list_gpus(), wanted)


def test_a_name_that_cuda_ignores_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    for wanted, says in (("0,-1", ""), ("0,7", "CUDA_VISIBLE_DEVICES=0,7: CUDA ignores 7")):
        visible_gpus(list_gpus(), wanted)
        assert says in caplog.text
        assert bool(caplog.records) == bool(says)


def test_a_lost_gpu_is_named_and_the_others_stay(machine: Path, caplog: pytest.LogCaptureFixture) -> None:
    install_nvidia_smi(machine, LISTED.replace(LISTED.splitlines(keepends=True)[1], LOST), status=15)
    assert [gpu.index for gpu in list_gpus()] == [0, 2, 3]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "0000:0B:00.0: GPU is lost" in caplog.text
    install_nvidia_smi(machine, LOST, status=15)
    with pytest.raises(DeviceError, match=r"0000:0B:00.0: GPU is lost.*device: cpu"):
        list_gpus()
    install_nvidia_smi(machine, "No devices were found\n", status=6)
    assert list_gpus() == []
