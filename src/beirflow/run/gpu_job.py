"""The surroundings of a job that may use a GPU: it gets its own GPU, and its errors name it and the remedy."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial

import torch

from beirflow.core.errors import DeviceError, ModelError
from beirflow.core.extensions import extensions
from beirflow.run.devices import is_of_the_device, is_out_of_memory
from beirflow.run.gpus import Gpu, jobs_on, jobs_that_fit, lease, list_gpus, memory_in_use, visible_gpus

logger = logging.getLogger(__name__)

OF_THE_PROGRAM = (
    "device-side assert",
    "illegal memory access",
    "misaligned address",
    "invalid argument",
    "invalid configuration",
)
"""Messages of CUDA and its libraries for impossible commands: not the GPU's fault."""

OF_THE_BUILD = ("no kernel image", "invalid device function", "PTX was compiled")
"""CUDA's messages for a GPU, or a driver, that torch was not built for."""


@contextmanager
def gpu_job(device: str, jobs_per_gpu: int | str, *, saves_memory: str = "") -> Iterator[None]:
    """Let the block compute on one GPU, the only one that CUDA then sees; where there is none, nothing happens.

    ``jobs_per_gpu`` is how many jobs a GPU takes, or ``"auto"``. ``saves_memory`` says what else helps this kind of job where
    memory is too little, e.g. ``"lower max_length"``. Raises DeviceError if the GPU fails, disappears or has too little memory,
    or there is one that cannot be used.
    """
    gpu = _own_gpu(jobs_per_gpu) if device in ("auto", "cuda") and torch.version.cuda else None
    if gpu or (device != "cpu" and (torch.cuda.is_available() or torch.backends.mps.is_available())):
        for observer in filter(None, (extension.observer for extension in extensions())):
            observer.gpu(gpu, partial(jobs_on, gpu) if gpu else None)
    with explained_errors(gpu, saves_memory):
        yield


@cache  # a process keeps its GPU: CUDA reads CUDA_VISIBLE_DEVICES once
def _own_gpu(jobs_per_gpu: int | str) -> Gpu | None:
    listed, wanted = list_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES")
    gpus = visible_gpus(listed, wanted)
    if not gpus:
        if torch.cuda.is_available() and torch.cuda.device_count() > 1:
            todo = "put nvidia-smi on PATH, or set CUDA_VISIBLE_DEVICES to one of them"
            logger.warning(
                "torch sees %d GPUs, but nvidia-smi lists none: every job takes the first; %s", torch.cuda.device_count(), todo
            )
        return None
    gpu = lease({gpu: jobs_that_fit(gpu) if isinstance(jobs_per_gpu, str) else jobs_per_gpu for gpu in gpus})
    os.environ["CUDA_VISIBLE_DEVICES"] = gpu.visible
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call]
    except (RuntimeError, AssertionError) as error:
        todo = "install a matching driver and torch, or set device: cpu"
        raise DeviceError(f"{gpu} is there, but torch cannot use it: {_first_line(error)}. {_state(gpu)}; {todo}") from error
    if torch.cuda.device_count() != 1:
        raise DeviceError(f"CUDA started before {gpu} was chosen, and sees others too; please report it with this log")
    card = f"GPU-{torch.cuda.get_device_properties(0).uuid}"
    other = next((each for each in listed if each.card == card != gpu.card), None)
    if other and gpu.visible != gpu.uuid:  # its lock and memory, and what observers count, would be those of another one
        todo = "set CUDA_DEVICE_ORDER=PCI_BUS_ID to count as nvidia-smi does, or name GPUs by their UUIDs"
        raise DeviceError(f"CUDA_VISIBLE_DEVICES={wanted} is {gpu} for nvidia-smi, and {other} for CUDA; {todo}")
    return gpu


@contextmanager
def explained_errors(gpu: Gpu | None, saves_memory: str = "") -> Iterator[None]:
    """Turn what CUDA raises in the block into a DeviceError that names the GPU, if it is known, and says what to do."""
    try:
        yield
    except (RuntimeError, ModelError) as error:
        # A ModelError wraps what torch raised.
        cause = error.__cause__ if isinstance(error, ModelError) else error
        failed = is_of_the_device(cause) and not any(words in str(cause) for words in OF_THE_PROGRAM)
        short = isinstance(cause, Exception) and is_out_of_memory(cause) and "CPU" not in str(cause)
        if not (failed or short):
            raise
        logger.info("the error of torch", exc_info=cause)
        which = str(gpu) if gpu else "the GPU"
        if short:
            problem = f"{which} has too little memory left: {_first_line(error)}"
            todo = ", ".join(filter(None, ["end other processes, set jobs_per_gpu: 1", saves_memory]))
        else:
            problem = f"{which} failed: {_first_line(error)}"
            todo = "look for Xid in the output of `sudo dmesg`; run the same command again, which resumes"
            if any(words in problem for words in OF_THE_BUILD):
                todo = "install a driver and a torch that suit this GPU"
        other = "or leave this GPU out by naming others in CUDA_VISIBLE_DEVICES (`nvidia-smi -L` lists them), or set device: cpu"
        raise DeviceError(f"{problem}. {_state(gpu)}; {todo}; {other}") from error


def _first_line(error: Exception) -> str:
    """Return the event, without torch's advice and without its count of GPUs, which is another than nvidia-smi's."""
    return ". ".join((str(error).strip() or type(error).__name__).splitlines()[0].split(". ")[:2]).rstrip(".")


def _state(gpu: Gpu | None) -> str:
    if gpu is None:
        return "Nothing is known about it, since nvidia-smi is not on PATH or lists none"
    try:
        if gpu.index is not None and gpu.uuid not in [other.uuid for other in list_gpus()]:
            return "nvidia-smi no longer lists it"
        return memory_in_use(gpu) or "nvidia-smi does not say how much of its memory is in use"
    except DeviceError as error:
        return str(error)
