"""Device, precision and memory of a job."""

import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import torch

from beirflow.core.errors import DeviceError, ModelError
from beirflow.run.hardware import FLAGS, of_processor

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

MOST_HALVINGS = 6  # halvings of blocks before a search fails: what takes the rest of the memory does not shrink with them

PACKED_FOR = 4096  # vectors that a packed matrix is laid out for; others are multiplied, too

OUT_OF_MEMORY = ("allocate memory", "ALLOC_FAILED", "ALLOCATION_FAILED", "out of memory")
"""Messages of a CPU, of CUDA and its libraries, and of Apple's for too little memory, in other errors than torch's own."""


OF_THE_DEVICE = (
    *("CUDA error", "CUDA driver error", "CUDA failure", "CUDA GPUs", "CUDA-capable", "HIP error"),
    *("CUDNN_STATUS", "CUBLAS_STATUS", "NVML_SUCCESS"),
)
"""Messages of torch and of the libraries of CUDA when a GPU, or a command to it, fails."""


def choose_device(device: str) -> torch.device:
    """Return the device for ``auto``, ``cuda``, ``mps`` or ``cpu``; ModelError if CUDA or MPS is asked for and there is none.

    ``auto`` is CUDA where there is one, and never MPS, which rounds in its own ways.
    """
    if device == "mps":
        if not torch.backends.mps.is_available():
            raise ModelError("device: found 'mps', but torch sees no GPU of Apple's here; use 'auto' or 'cpu'")
        return torch.device("mps")
    if device == "cuda" and not torch.cuda.is_available():
        raise ModelError(
            "device: found 'cuda', but torch sees no CUDA device here; use 'auto' or 'cpu', or install torch for CUDA"
        )
    return torch.device("cuda" if device != "cpu" and torch.cuda.is_available() else "cpu")


def exact_device(device: str) -> torch.device:
    """Return the device for work that MPS does not do, for lack of float64 or of support here: the CPU in place of MPS."""
    chosen = choose_device(device)
    return torch.device("cpu") if chosen.type == "mps" else chosen


def choose_precision(precision: str, device: torch.device) -> torch.dtype:
    """Return the dtype of weights and activations for ``auto``, ``float32``, ``bfloat16`` or ``float16``.

    ``auto`` is bfloat16 where the device has instructions for it, else float32, as on MPS.
    """
    if precision != "auto":
        return {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[precision]
    if device.type == "cuda":
        # Emulated bfloat16 is slower than float32.
        native = torch.cuda.is_bf16_supported(including_emulation=False)
    elif device.type == "mps":
        native = False  # whether it has some depends on the version of macOS
    else:
        capabilities = torch.cpu.get_capabilities()
        native = any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))
    return torch.bfloat16 if native else torch.float32


def is_out_of_memory(error: Exception) -> bool:
    """Test whether an error means that memory ran out, on whatever device, so that a smaller batch may succeed."""
    return isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in OUT_OF_MEMORY)


def is_of_the_device(error: BaseException | None) -> bool:
    """Test whether an error is that of a GPU or of a command to it, and not of the code that called torch."""
    return any(words in str(error) for words in OF_THE_DEVICE)


def within_memory(search: Callable[[int], Result], device: torch.device) -> Result:
    """Search with blocks of the usual size, and of half that size whenever memory runs out, which must change no hit.

    ``search`` receives the number of halvings: 0 at first, at most :data:`MOST_HALVINGS`.
    """
    halvings = 0
    while True:
        try:
            return search(halvings)
        except RuntimeError as error:
            if halvings == MOST_HALVINGS or not is_out_of_memory(error):
                raise
        # After the except block, whose traceback keeps the tensors of the failed search.
        if device.type == "cuda":
            torch.cuda.empty_cache()
        halvings += 1
        logger.warning("out of memory in a search; continuing with blocks of 1/%d of their size", 1 << halvings)


def compute_exactly() -> None:
    """Compute float32 products in float32, not TF32, and sum those of half precision in float32, whatever is set outside.

    And leave attention to torch's own kernels: cuDNN prepares a plan for each new shape, and every batch has another.
    """
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_accumulation = False
    torch.backends.cuda.enable_cudnn_sdp(False)


def require_exact_products(device: torch.device) -> None:
    """Let products of float32 matrices round as IEEE float32 does, which the bounds of exact searches suppose; prove it once.

    torch's own switch does not reach what libraries of CUDA read from the environment. A factor of 1 + 2 ** -12 is rounded to 1
    by TF32, which keeps ten bits, and by bfloat16. Raises DeviceError if the products are rounded further.
    """
    compute_exactly()
    if not (off := product_error(device)) <= 2.0**-16:
        todo = "unset NVIDIA_TF32_OVERRIDE and CUBLAS_EMULATE_SINGLE_PRECISION, or set device: cpu"
        raise DeviceError(f"products of float32 on {device} are off by {off:.1e}, so that no search there is exact; {todo}")


def multiply(
    vectors: torch.Tensor, matrix: torch.Tensor, bias: torch.Tensor | None = None, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Multiply vectors of shape (..., dim) by the rows of a matrix, as ``torch.nn.functional.linear`` does, without gradients.

    oneDNN multiplies by a matrix of :func:`pack`, and float32 on a CPU where :func:`prefers_onednn`. torch does all else, and
    writes to ``out`` where it is given.
    """
    if matrix.is_mkldnn:
        return _multiply_by_onednn(vectors, matrix, bias)
    if vectors.device.type == "cpu" and vectors.dtype == torch.float32 and prefers_onednn():
        # From rows with gaps between them, oneDNN multiplies hundreds of times as long as it takes to copy them.
        plain = matrix.is_contiguous() or matrix.T.is_contiguous()
        return _multiply_by_onednn(vectors, matrix if plain else matrix.contiguous(), bias)
    return torch.nn.functional.linear(vectors, matrix, bias) if out is None else torch.mm(vectors, matrix.T, out=out)


@cache
def prefers_onednn() -> bool:
    """Test whether oneDNN multiplies float32 matrices faster than MKL here, and as exactly, whatever the environment tells it."""
    libraries = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not libraries or not mkl_leaves_avx512(of_processor("vendor_id"), of_processor(FLAGS)):
        return False
    compute_exactly()
    return product_error(torch.device("cpu"), _multiply_by_onednn) <= 2.0**-16


def mkl_leaves_avx512(vendor: str, flags: str) -> bool:
    """Test whether a processor has AVX-512 and MKL does not use it: on AMD's it takes AVX2, half as many numbers at once."""
    return vendor == "AuthenticAMD" and "avx512f" in flags.split()


def _multiply_by_onednn(vectors: torch.Tensor, matrix: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    products: torch.Tensor = torch.ops.mkldnn._linear_pointwise(vectors, matrix, bias, "none", [], "")
    return products


def pack(matrix: torch.Tensor) -> torch.Tensor:
    """Return a copy of a matrix in the layout that oneDNN prefers for many vectors; only :func:`multiply` reads it."""
    packed: torch.Tensor = torch.ops.mkldnn._reorder_linear_weight(matrix.detach(), PACKED_FOR)
    return packed


@cache  # an answer to one query takes less time than the products
def product_error(device: torch.device, product: Callable[..., torch.Tensor] = multiply) -> float:
    """Return the largest relative error of a product of float32 matrices whose result float32 holds exactly."""
    rows, dim, factor = 256, 768, 1 + 2.0**-12
    products = product(torch.full((rows, dim), factor, device=device), torch.ones((rows, dim), device=device))
    return float((products / (dim * factor) - 1).abs().max())


@cache
def fast_type(device: torch.device) -> torch.dtype:
    """Return float16 where a device adds the products of such vectors in float32, as NVIDIA's tensor cores do; else float32.

    The sum of a product that tries it has more digits than half precision.
    """
    multiplies = device.type == "cuda" and torch.version.hip is None and torch.cuda.get_device_capability(device) >= (7, 0)
    if not multiplies or not hasattr(torch.ops.aten.mm, "dtype_out"):
        return torch.float32
    compute_exactly()
    rows, dim = 256, 768
    large, small = (torch.full((rows, dim), 2.0**power, dtype=torch.float16, device=device) for power in (-12, -8))
    large[:, 0] = small[:, 0] = 1
    try:
        products = torch.mm(large, small.T, out_dtype=torch.float32)
    except (RuntimeError, TypeError) as error:
        if is_out_of_memory(error):
            raise
        logger.warning("%s does not multiply half precision into float32 (%s); float32 is used, which is slower", device, error)
        return torch.float32
    off = float((products - (1 + (dim - 1) * 2.0**-20)).abs().max())
    return torch.float16 if off <= 2.0**-16 else torch.float32


def driver_version() -> str | None:
    """Return the version of NVIDIA's driver from its kernel module; None if it is not loaded."""
    path = Path("/sys/module/nvidia/version")
    return path.read_text(encoding="ascii").strip() if path.is_file() else None
