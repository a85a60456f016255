"""Time and memory of a job, in the columns of Snakemake's ``benchmark:``, which would measure the client of the job.

A last column of our own, ``load_per_core``, has the load average of the last minute per core.
"""

import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from beirflow.core.writing import atomic_path

KIBIBYTES = 1024 if sys.platform == "linux" else 1024**2  # units of the kernel's peak in a mebibyte

UNKNOWN = "NA"

LOAD = "load_per_core"  # column of the load average


@contextmanager
def measured(path: Path) -> Iterator[None]:
    """Measure this process while the block runs, and write ``benchmarks/<job>.tsv`` once the block has done its work.

    ``max_rss`` (MiB) is the peak of this process, or of a child that ended if it took more; ``mean_load`` is in percent of a
    core. An earlier file is removed first. A disk that refuses the file costs the benchmark and nothing else.
    """
    with suppress(OSError):
        path.unlink(missing_ok=True)
    begin, begin_seconds = time.monotonic(), own_seconds()
    yield
    seconds, processor_seconds = time.monotonic() - begin, own_seconds() - begin_seconds
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    row = {
        "s": f"{seconds:.4f}",
        "h:m:s": str(timedelta(seconds=int(seconds))),
        "max_rss": f"{peak / KIBIBYTES:.2f}",
        **dict.fromkeys(("max_vms", "max_uss", "max_pss", "io_in", "io_out"), UNKNOWN),
        "mean_load": f"{100 * processor_seconds / seconds:.2f}",
        "cpu_time": f"{processor_seconds:.2f}",
        LOAD: f"{os.getloadavg()[0] / (os.cpu_count() or 1):.6g}",
    }
    with suppress(OSError), atomic_path(path) as partial:
        partial.write_text("\t".join(row) + "\n" + "\t".join(row.values()) + "\n", encoding="utf-8")


def own_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])
