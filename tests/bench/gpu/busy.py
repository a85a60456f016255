"""How much of the time the device is busy while a corpus is encoded, and with what."""

import json
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from bench.gpu.encoding import WARM_UP
from bench.gpu.rates import seconds_of, union_seconds
from bench.gpu.workload import Figures, NotRunError, Setting, evenly

ON_DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}
LISTED, NAME_LENGTH = 15, 100


def busy_share(setting: Setting) -> Figures:
    """Encode all texts twice after a warm-up: as it is, for the time, and under torch's profiler, for what the device did."""
    if setting.device.type != "cuda":
        raise NotRunError("there is no CUDA device here")
    encoder = setting.encoder()
    encoder.encode_corpus(evenly(setting.texts, WARM_UP))
    with Sampler() as sampler:
        plain = seconds_of(lambda: encoder.encode_corpus(setting.texts), setting.device)
    figures: Figures = {"documents": len(setting.texts), "seconds": plain, "nvidia_smi_utilisation": sampler.mean}
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        wall = seconds_of(lambda: encoder.encode_corpus(setting.texts), setting.device)
    events = device_events(profiler)
    if not events:
        return figures | {"share": sampler.mean, "by": "nvidia-smi, because torch's profiler saw no kernels"}
    starts, durations = (np.array([event[name] for event in events], dtype=np.float64) / 1e6 for name in ("ts", "dur"))
    busy = union_seconds(starts, starts + durations)
    found = {"share": busy / wall, "by": "torch's profiler", "busy_seconds": busy, "profiled_seconds": wall}
    return figures | found | {"share_of_plain": busy / plain, "kernels": largest(events)}


def device_events(profiler: Any) -> list[dict[str, Any]]:
    """What ran on the device, from the trace."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        trace = json.loads(path.read_bytes())
    return [event for event in trace["traceEvents"] if event.get("cat") in ON_DEVICE]


def largest(events: list[dict[str, Any]]) -> dict[str, float]:
    """Shares of the device's time of the kernels that take most of it, by name."""
    totals: dict[str, float] = defaultdict(float)
    for event in events:
        totals[event["name"][:NAME_LENGTH]] += event["dur"]
    whole = sum(totals.values())
    return {name: totals[name] / whole for name in sorted(totals, key=totals.__getitem__, reverse=True)[:LISTED]}


class Sampler:
    """Asks nvidia-smi ten times a second for the utilisation, where there is an nvidia-smi.

    Attributes:
        mean: Of the samples, from 0 to 1; None where there are none.
    """

    COMMAND = ("nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "--loop-ms=100")

    def __init__(self) -> None:
        self.mean: float | None = None
        self._child: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Sampler":
        command = [*self.COMMAND, f"--id=GPU-{torch.cuda.get_device_properties(0).uuid}"]
        try:
            self._child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            time.sleep(1)
        except OSError:
            self._child = None  # no nvidia-smi, no samples
        return self

    def __exit__(self, *error: object) -> None:
        if self._child is None:
            return
        self._child.terminate()
        output, _ = self._child.communicate()
        samples = [int(line) for line in output.split() if line.isdigit()][10:]
        self.mean = mean(samples) / 100 if samples else None
