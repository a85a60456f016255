"""The share of the time that the device is busy while a corpus is encoded, by kernel."""

import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
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
    plain = seconds_of(lambda: encoder.encode_corpus(setting.texts), setting.device)
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        wall = seconds_of(lambda: encoder.encode_corpus(setting.texts), setting.device)
    events = device_events(profiler)
    if not events:
        raise NotRunError("torch's profiler saw no kernels")
    starts, durations = (np.array([event[name] for event in events], dtype=np.float64) / 1e6 for name in ("ts", "dur"))
    busy = union_seconds(starts, starts + durations)
    return {
        "documents": len(setting.texts),
        "seconds": plain,
        "share": busy / wall,
        "busy_seconds": busy,
        "profiled_seconds": wall,
        "share_of_plain": busy / plain,
        "kernels": largest(events),
    }


def device_events(profiler: Any) -> list[dict[str, Any]]:
    """Give the events of the trace that ran on the device."""
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
