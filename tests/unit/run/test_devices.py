"""Devices are those that are asked for, or an error; never another one in silence."""

import pytest
import torch

from beirflow.core.errors import DeviceError, ModelError
from beirflow.models.computing.made import made_with
from beirflow.run import devices
from processors import AMD, processor_of

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
    monkeypatch.setattr(devices, "prefers_onednn", lambda: False)
    multiply, digits = torch.nn.functional.linear, 2.0**bits
    monkeypatch.setattr(torch.nn.functional, "linear", lambda one, *other: multiply((one * digits).round() / digits, *other))
    with pytest.raises(DeviceError, match=r"products of float32 on cpu are off by 2\.4e-04, so that no search there is exact"):
        devices.require_exact_products(torch.device("cpu"))
    devices.product_error.cache_clear()


@pytest.mark.parametrize(
    ("vendor", "flags", "leaves"),
    [
        ("AuthenticAMD", "fpu avx2 avx512f avx512_bf16", True),  # Zen 4
        ("AuthenticAMD", "fpu avx2", False),  # Zen 3
        ("AuthenticAMD", "fpu avx512fp16", False),
        ("GenuineIntel", "fpu avx2 avx512f", False),
        ("", "asimd bf16", False),  # Arm has no vendor
    ],
)
def test_mkl_leaves_avx512_to_onednn_on_processors_of_amd(vendor: str, flags: str, leaves: bool) -> None:
    assert devices.mkl_leaves_avx512(vendor, flags) is leaves


def test_onednn_that_an_environment_lets_round_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """As ONEDNN_DEFAULT_FPMATH_MODE=BF16 does."""
    with processor_of(AMD):
        assert devices.prefers_onednn()
        devices.prefers_onednn.cache_clear()
        monkeypatch.setattr(devices, "_multiply_by_onednn", lambda one, other, bias=None: one.bfloat16().float() @ other.T)
        assert not devices.prefers_onednn()
