"""The model settings of a job: device, precision, threads, GPU."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch

from beirflow.jobs.gpu_job import gpu_job

S_co = TypeVar("S_co", covariant=True)


@dataclass(frozen=True)
class Computing(Generic[S_co]):
    """Settings of a computation with a model.

    Attributes:
        settings: Of the system, or of whatever else has the model.
        model_path: The record of the model.
        precision: ``auto``, ``float32``, ``bfloat16`` or ``float16``.
        device: ``auto``, ``cuda``, ``mps`` or ``cpu``.
        token_budget: Tokens of a batch, or ``auto``.
        threads: Threads to compute with on the CPU.
        jobs_per_gpu: Jobs that may use a GPU at a time; where all GPUs are taken, a job waits for one before it loads the model.
    """

    settings: S_co
    model_path: str
    precision: str
    device: str = "auto"
    token_budget: int | str = "auto"
    threads: int = 1
    jobs_per_gpu: int = 1

    @property
    def on(self) -> dict[str, Any]:
        """Device, precision and size of batches, as the arguments of what loads a model."""
        return {"device": self.device, "precision": self.precision, "token_budget": self.token_budget}

    def use_threads(self) -> None:
        """Compute and tokenize with as many threads as the job has, from now on in this process."""
        torch.set_num_threads(self.threads)
        os.environ["RAYON_NUM_THREADS"] = str(self.threads)

    def gpu(self, saves_memory: str) -> AbstractContextManager[None]:
        """Hold a GPU meanwhile, where one is used.

        Args:
            saves_memory: What a person can do who has too little of it.

        Returns:
            What :func:`~beirflow.jobs.gpu_job.gpu_job` gives.
        """
        return gpu_job(self.device, self.jobs_per_gpu, saves_memory=saves_memory)


@contextmanager
def checked_meanwhile(check: Callable[[], object]) -> Iterator[None]:
    """Load a model while the digests of its files are compared, which reads them for the first time.

    Args:
        check: Compares them, in another thread.

    Yields:
        Nothing; what the check raises is raised at the end.
    """
    with ThreadPoolExecutor(max_workers=1) as background:
        checked = background.submit(check)
        yield
        checked.result()
