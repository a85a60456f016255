"""GPUs, and the device and precision of torch."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from beirflow.extensions.doctor.finding import DEADLINE, OK, PROBLEM, WARNING, Finding
from beirflow.extensions.doctor.packages import installed

PROBE = """
import json
import torch
from beirflow.run.devices import choose_device, choose_precision
device = choose_device("auto")
print(json.dumps({
    "build": torch.version.cuda and f"CUDA {torch.version.cuda}", "cuda": torch.cuda.is_available(), "device": device.type,
    "precision": str(choose_precision("auto", device)),
}))
"""
"""What torch says of this machine, in a process of its own, since torch may start slowly and its driver may hang."""


def list_gpus() -> list[tuple[Any, str]]:
    """Return the visible GPUs, each with its memory and driver as nvidia-smi says them."""
    import os

    from beirflow.run.gpus import ask_nvidia_smi, list_gpus, visible_gpus

    gpus = visible_gpus(list_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES"))
    query = ("--query-gpu=memory.total,driver_version", "--format=csv,noheader")
    return [(gpu, ask_nvidia_smi(*query, f"--id={gpu.card}").strip()) for gpu in gpus]


def probe_torch() -> Mapping[str, Any]:
    """Return what torch says of its device; empty without torch."""
    import json
    import os
    import subprocess

    if not installed("torch"):
        return {}
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", PROBE]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False)  # noqa: S603 - this program
    if ended.returncode:
        raise RuntimeError((ended.stderr.strip().splitlines() or ["it says nothing"])[-1])
    probed: Mapping[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return probed


def of_gpus(gpus: Any, probed: Any) -> Iterator[Finding]:
    """Yield the GPUs, whether torch reaches them, and the precision that ``auto`` is."""
    if isinstance(gpus, Exception):
        hint = "the driver may hang: try nvidia-smi, or set device: cpu" if isinstance(gpus, TimeoutError) else ""
        yield Finding(WARNING if hint else PROBLEM, "GPUs", f"nvidia-smi: {gpus}", hint)
        gpus = []
    elif not gpus:
        yield Finding(OK, "GPUs", "none that nvidia-smi shows, so models run on the CPU")
    for gpu, memory in gpus:
        yield Finding(OK, "GPU", f"{gpu}: {memory.replace(', ', ', driver ') or 'memory not known'}")
    if isinstance(probed, Exception):
        slow = "a busy machine or a slow disk; run this again" if "Timeout" in type(probed).__name__ else ""
        problem = f"did not start in {DEADLINE:.0f} s" if slow else str(probed)
        todo = slow or "install torch again: pip install --force-reinstall torch"
        yield Finding(WARNING if slow else PROBLEM, "torch", f"{installed('torch')}; {problem}", todo)
    elif probed and gpus and not probed["cuda"]:
        todo = "update the driver, or install torch for an older CUDA"
        todo = todo if probed["build"] else "install torch for CUDA: pip install torch"
        yield Finding(PROBLEM, "torch", f"built for {probed['build'] or 'CPUs'}; sees no GPU", f"{todo}; or set device: cpu")
    elif probed:
        precision = str(probed["precision"]).removeprefix("torch.")
        why = "" if precision == "bfloat16" else f", since this {probed['device']} does not compute in bfloat16"
        device = f"built for {probed['build'] or 'CPUs'}; device {probed['device']}"
        yield Finding(OK, "torch", f"{device}; 'precision: auto' is {precision}{why}")
