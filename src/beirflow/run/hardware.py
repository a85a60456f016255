"""The hardware that a job computes on: device, threads, share of a GPU; with a model also precision and size of batches."""

import os
import platform
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

FLAGS = "flags|Features"  # keys of the features of a processor in /proc/cpuinfo


@dataclass(frozen=True)
class Hardware:
    """The hardware of a job."""

    device: str = field(default="auto", kw_only=True)  # ``auto``, ``cuda``, ``mps`` or ``cpu``
    threads: int = field(default=1, kw_only=True)  # threads to compute with on the CPU
    # jobs that may use a GPU at a time, or ``auto``; where all GPUs are taken, a job waits for one before it loads the model
    jobs_per_gpu: int | str = field(default="auto", kw_only=True)

    def use_threads(self) -> None:
        """Set the number of threads of torch and of tokenizers, for the rest of this process."""
        import torch

        torch.set_num_threads(self.threads)
        os.environ["RAYON_NUM_THREADS"] = str(self.threads)

    def gpu(self, saves_memory: str = "") -> AbstractContextManager[None]:
        """Hold a GPU, if one is used; ``saves_memory`` is a remedy for too little memory, for the message."""
        from beirflow.run.gpu_job import gpu_job

        return gpu_job(self.device, self.jobs_per_gpu, saves_memory=saves_memory)


@dataclass(frozen=True)
class ModelHardware(Hardware):
    """The hardware of a job that computes with a model."""

    precision: str = field(kw_only=True)  # ``auto``, ``float32``, ``bfloat16`` or ``float16``
    token_budget: int | str = field(default="auto", kw_only=True)  # tokens of a batch, or ``auto``

    @property
    def on(self) -> dict[str, Any]:
        """Return device, precision and size of batches, as the arguments of the function that loads a model."""
        return {"device": self.device, "precision": self.precision, "token_budget": self.token_budget}


def processor() -> str:
    """Return the name of the processor."""
    return of_processor("model name").strip() or platform.processor() or platform.machine()


def features() -> str:
    """Return a digest of the features of the processor, by which kernels are chosen; empty if Linux does not report them."""
    flags = of_processor(FLAGS)
    return sha256(flags.encode()).hexdigest()[:12] if flags else ""


def of_processor(keys: str) -> str:
    """Return the entry of the first processor in /proc/cpuinfo with one of some keys; empty without one."""
    information = Path("/proc/cpuinfo")
    text = information.read_text(errors="replace") if information.is_file() else ""
    found = re.search(rf"^(?:{keys})\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1] if found else ""
