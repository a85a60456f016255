"""Device and precision of a job."""

from pathlib import Path

import torch

from beirflow.files.errors import ModelError

OUT_OF_MEMORY = ("allocate memory", "ALLOC_FAILED", "CUDA error: out of memory", "MPS backend out of memory")
"""Messages of a CPU, of the libraries of CUDA, and of Apple's for too little memory, in other errors than torch's own."""


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
    """Test whether an error means that memory ran out, on whatever device, so that less at once may succeed."""
    return isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in OUT_OF_MEMORY)


def driver_version() -> str | None:
    """Return the version of NVIDIA's driver from its kernel module; None if it is not loaded."""
    path = Path("/sys/module/nvidia/version")
    return path.read_text(encoding="ascii").strip() if path.is_file() else None
