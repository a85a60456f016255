"""Devices are those that are asked for, or an error; never another one in silence."""

import pytest
import torch

from beirflow.core.errors import DeviceError, ModelError
from beirflow.models.computing.made import made_with
from beirflow.run import devices

MPS = torch.device("mps")


@pytest.mark.skipif(torch.backends.mps.is_available(), reason="there is one here")
def test_mps_that_is_not_there_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(ModelError, match=r"^device: found 'mps', but torch sees no GPU of Apple's here; use 'auto' or 'cpu'$"):
        devices.choose_device("mps")


def test_only_who_asks_for_mps_gets_it_and_float64_is_computed_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert [devices.choose_device(name).type for name in ("auto", "mps", "cpu")] == ["cpu", "mps", "cpu"]
    assert [devices.exact_device(name).type for name in ("auto", "mps", "cpu")] == ["cpu", "cpu", "cpu"]


def test_mps_has_float32_unless_another_is_asked_for_a_name_in_records_and_a_memory_that_runs_out() -> None:
    assert devices.choose_precision("auto", MPS) == torch.float32
    assert devices.choose_precision("float16", MPS) == torch.float16
    assert made_with(MPS)["device"].startswith("mps of ")
    assert not made_with(torch.device("cpu"))["device"].startswith("mps")
    assert devices.is_out_of_memory(RuntimeError("MPS backend out of memory (MPS allocated: 9.0 GB)"))


@pytest.mark.parametrize(
    "message",
    [
        "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported",
        "CUDA driver error: out of memory",  # of expandable segments
        "CUDA failure 2: out of memory ; GPU=0 ; hostname=node ; expr=cudaMalloc((void**)&p, size);",  # of ONNX Runtime
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",  # since cuDNN 9
    ],
)
def test_a_lack_of_memory_is_known_in_the_words_of_every_library_of_cuda(message: str) -> None:
    assert devices.is_out_of_memory(RuntimeError(message))
    assert not devices.is_out_of_memory(RuntimeError("CUDA error: an illegal memory access was encountered"))


@pytest.mark.parametrize("bits", [7, 10])
def test_products_that_round_to_fewer_bits_than_float32_are_refused(monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    """As TF32 and bfloat16 do, if a library of CUDA is told so by its environment."""
    devices.product_error.cache_clear()
    devices.require_exact_products(torch.device("cpu"))
    devices.product_error.cache_clear()
    multiply, digits = torch.mm, 2.0**bits
    monkeypatch.setattr(torch, "mm", lambda one, other: multiply((one * digits).round() / digits, other))
    with pytest.raises(DeviceError, match=r"products of float32 on cpu are off by 2\.4e-04, so that no search there is exact"):
        devices.require_exact_products(torch.device("cpu"))
    devices.product_error.cache_clear()
