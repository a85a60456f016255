"""Run one function of a stage, in a process of its own: python -m bench.child search.peer_faiss ARGUMENT..."""

import importlib
import inspect
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

IN_TURN = "in_turn"
"""Before a number and a function: the function is called so often."""


def main(function: str, *texts: str) -> None:
    """Call ``bench.stages.<function>``; each argument is converted by the type that annotates its parameter."""
    if function == IN_TURN:
        run_in_turn(int(texts[0]), *texts[1:])
        return
    module, _, name = function.rpartition(".")
    bound = inspect.signature(function := getattr(importlib.import_module(f"bench.stages.{module}"), name)).bind(*texts)
    for parameter, value in bound.arguments.items():
        kind = bound.signature.parameters[parameter].annotation
        bound.arguments[parameter] = tuple(map(kind, value)) if isinstance(value, tuple) else kind(value)
    function(*bound.args)


def run_in_turn(times: int, function: str, output: str, *texts: str) -> None:
    """Call a function several times, each in a process and with a folder of its own, as Snakemake runs the jobs of all chunks."""
    for number in range(times):
        (own := Path(output, str(number))).mkdir()
        subprocess.run([sys.executable, "-m", "bench.job", function, str(own), *texts], check=True)


@contextmanager
def timed_call() -> Iterator[None]:
    """Time the block and report it, with how far the peak memory rose above what the process held before."""
    before, start = _status_bytes("VmRSS"), time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    report(seconds=seconds, growth=_status_bytes("VmHWM") - before)


def report(**values: Any) -> None:
    """Hand values to the process that measures, as the last line of standard output."""
    sys.stdout.write(json.dumps(values) + "\n")


def _status_bytes(field: str) -> int:
    """A size from the kernel's status of this process; 0 where there is no such file."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
