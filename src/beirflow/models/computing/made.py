"""Arithmetic of models and their part of the records, for all families that have one."""

import platform
from collections.abc import Sequence
from typing import Any

import torch
import transformers

from beirflow.core.records import ASSUMED
from beirflow.run.devices import driver_version


def made_with(device: torch.device, assumed: Sequence[str] = ()) -> dict[str, Any]:
    """Return device, versions and assumptions that vectors or scores are made with, for a record.

    ``assumed`` are sentences that name the system, for the summary: settings that the files of the model lack. A driver that is
    not known, and an empty list of assumptions, have no key.
    """
    on_gpu, processor = device.type == "cuda", platform.processor() or platform.machine()
    driver = driver_version() if on_gpu else None
    return {
        "device": torch.cuda.get_device_name() if on_gpu else f"mps of {processor}" if device.type == "mps" else processor,
        **({"driver": driver} if driver else {}),
        **({"matmul_precision": torch.get_float32_matmul_precision()} if on_gpu else {}),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
        **({ASSUMED: sorted(assumed)} if assumed else {}),
    }
