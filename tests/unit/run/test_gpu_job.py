"""A job's GPU: it is the only one that CUDA sees, and errors name it. What needs CUDA is in tests/gpu."""

from pathlib import Path

import pytest
import torch

from beirflow.core.errors import BeirflowError, DeviceError, ModelError
from beirflow.run.gpu_job import explained_errors
from beirflow.run.gpus import Gpu
from fake_gpus import LISTED, UUIDS, install_nvidia_smi
from forks import run_code_in_fork

GPU = Gpu(2, "Fake H100", UUIDS[2], UUIDS[2], "2")
OUT_OF_MEMORY = (
    "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.10 GiB of which 3.00 MiB is free. See"
)


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of a machine with four GPUs, all in use."""
    for name, value in install_nvidia_smi(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path


def explained(error: Exception, gpu: Gpu | None = GPU, saves_memory: str = "") -> str:
    with pytest.raises(BeirflowError) as caught, explained_errors(gpu, saves_memory):
        raise error
    return str(caught.value)


def test_a_lack_of_memory_names_the_gpu_who_has_its_memory_and_settings_that_the_job_has() -> None:
    error = torch.OutOfMemoryError(OUT_OF_MEMORY)
    message = explained(error)
    assert message.startswith(f"{GPU} has too little memory left: CUDA out of memory. Tried to allocate 20.00 MiB. 70000 MiB of ")
    assert "process 4711 (/usr/bin/python3) has 69000 MiB; end other processes, set jobs_per_gpu: 1; or leave this GPU" in message
    assert "GPU 0" not in message
    assert "token_budget" not in message
    assert "; end other processes, set jobs_per_gpu: 1, lower a; or leave" in explained(error, saves_memory="lower a")
    of_a_text = ModelError("system tiny: a text of 64 tokens does not fit into the memory of cuda; lower max_length")
    of_a_text.__cause__ = error
    assert explained(of_a_text).startswith(f"{GPU} has too little memory left: system tiny: a text of 64 tokens does not fit")


@pytest.mark.parametrize(
    "error",
    [
        torch.AcceleratorError("CUDA error: unspecified launch failure\nCUDA kernel errors might be asynchronously reported"),
        RuntimeError("No CUDA GPUs are available"),
        RuntimeError("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR"),
        RuntimeError("CUDA failure 719: unspecified launch failure ; GPU=0 ; hostname=node"),  # of ONNX Runtime
    ],
    ids=str,
)
def test_a_gpu_that_fails_is_named_with_what_torch_says_and_what_to_do(error: Exception) -> None:
    message = explained(error)
    assert message.startswith(f"{GPU} failed: {str(error).splitlines()[0]}. 70000 MiB")
    assert "run the same command again" in message
    assert "CUDA_VISIBLE_DEVICES" in message


def test_a_torch_that_was_not_built_for_the_gpu_is_no_fault_of_the_gpu() -> None:
    message = explained(torch.AcceleratorError("CUDA error: no kernel image is available for execution on the device"))
    assert "install a driver and a torch that suit this GPU" in message
    assert "Xid" not in message


def test_a_gpu_that_has_disappeared_or_of_which_nothing_is_known_is_said_to_have_or_be(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine / "listed").write_text("".join(line for line in LISTED.splitlines(keepends=True) if UUIDS[2] not in line))
    assert "nvidia-smi no longer lists it" in explained(torch.AcceleratorError("CUDA error: unknown error"))
    monkeypatch.setenv("PATH", str(machine))
    message = explained(torch.OutOfMemoryError(OUT_OF_MEMORY), gpu=None)
    assert message.startswith("the GPU has too little memory left")
    assert "since nvidia-smi is not on PATH" in message


@pytest.mark.parametrize(
    "error",
    [
        torch.AcceleratorError("CUDA error: device-side assert triggered"),
        RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 byte"
        ),
        ModelError("the model cannot be loaded"),
    ],
    ids=str,
)
def test_errors_that_are_not_the_gpus_stay_what_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, explained_errors(GPU):
        raise error
    assert caught.value is error


WITH_CUDA = """
import os, torch
from beirflow.run.gpu_job import _own_gpu, gpu_job
torch.version.cuda = "13"
_own_gpu.cache_clear()
"""
"""What precedes the code of a job; it lasts, so that the job has a process of its own."""


def test_a_gpu_that_torch_cannot_use_is_an_error_and_where_there_is_none_nothing_is_made(tmp_path: Path) -> None:
    code = f"{WITH_CUDA}with gpu_job('auto', 'auto'): pass"
    (tmp_path / "empty").mkdir()
    done = run_code_in_fork(
        code, PATH=str(tmp_path / "empty"), BEIRFLOW_LOCKS=str(tmp_path / "no-locks"), CUDA_VISIBLE_DEVICES=""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / "no-locks").exists()
    done = run_code_in_fork(code, **install_nvidia_smi(tmp_path), CUDA_VISIBLE_DEVICES="2,1")
    last = done.stderr.splitlines()[-1]
    assert f"{DeviceError.__name__}: GPU 2 (Fake H100, {UUIDS[2]}) is there, but torch cannot use it: " in last
    assert "install a matching driver and torch, or set device: cpu" in last


@pytest.mark.parametrize(
    ("visible", "found", "refused"),
    [("1,2", 1, False), ("1,2", 2, True), (UUIDS[1], 1, False), (UUIDS[1], 2, False), ("1,2", None, False)],
)
def test_a_gpu_that_cuda_counts_in_another_order_than_nvidia_smi_is_refused(
    tmp_path: Path, visible: str, found: int | None, refused: bool
) -> None:
    """Another one would be locked and observed."""
    uuid = "00000000-0000-0000-0000-000000000000" if found is None else UUIDS[found].removeprefix("GPU-")
    code = f"""{WITH_CUDA}
from types import SimpleNamespace
torch.cuda.init = lambda: None
torch.cuda.device_count = lambda: 1
torch.cuda.get_device_properties = lambda _: SimpleNamespace(uuid={uuid!r})
with gpu_job("auto", "auto"): print(os.environ["CUDA_VISIBLE_DEVICES"])
"""
    done = run_code_in_fork(code, **install_nvidia_smi(tmp_path), CUDA_VISIBLE_DEVICES=visible)
    if not refused:
        first = visible.partition(",")[0]
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{first}\n", "")
        return
    last = done.stderr.splitlines()[-1]
    assert f"DeviceError: CUDA_VISIBLE_DEVICES=1,2 is GPU 1 (Fake H100, {UUIDS[1]}) for nvidia-smi, and GPU 2 (Fake H100" in last
    assert "set CUDA_DEVICE_ORDER=PCI_BUS_ID" in last
