"""The model's part of the records, for all families that have one."""

import platform

import torch
import transformers

from beirflow.jobs.devices import driver_version


def made_with(device: torch.device) -> dict[str, str]:
    """Device and versions that vectors are made with, for a record.

    Args:
        device: What torch computes on.

    Returns:
        Names and versions; nothing stands for a driver that is not known.
    """
    on_gpu, processor = device.type == "cuda", platform.processor() or platform.machine()
    driver = driver_version() if on_gpu else None
    return {
        "device": torch.cuda.get_device_name() if on_gpu else f"mps of {processor}" if device.type == "mps" else processor,
        **({"driver": driver} if driver else {}),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
    }
