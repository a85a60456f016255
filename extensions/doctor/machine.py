"""Disks, cores and memory, and the limits of containers and jobs."""

from collections.abc import Iterator
from pathlib import Path

from beirflow.extensions.doctor.finding import OK, PROBLEM, WARNING, Finding

LITTLE = 5e9  # bytes of a disk below which a run may not fit: the corpora of a middling dataset and their vectors
FEW_FILES = 10_000


def of_folder(what: str, folder: Path, move: str) -> Iterator[Finding]:
    """Yield whether a folder, or the nearest that exists above it, can be written, has room, and locks files.

    ``move`` says how another folder is named.
    """
    import fcntl
    import os
    import shutil
    import tempfile

    from beirflow.core.disks import disk_problem, local_locks

    here = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    name = f"{folder.absolute()}{'' if here == folder.absolute() else f' (not there yet; below {here})'}"
    lock: Exception | None = None
    try:
        with tempfile.NamedTemporaryFile(dir=here, prefix=".beirflow-doctor-") as file:
            file.write(bytes(1 << 16))
            file.flush()
            os.fsync(file.fileno())
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                lock = error
    except OSError as error:
        error.filename = str(here)
        problem = (disk_problem(error) or f"{here} cannot be written ({error})").partition("; ")[0]  # the rest is for a run
        yield Finding(PROBLEM, what, f"{name}: {problem}", f"make it writable and make room, or {move}")
        return
    free, files = shutil.disk_usage(here).free, os.statvfs(here)
    few = files.f_files > 0 and files.f_favail < FEW_FILES  # some file systems count no files
    found = f"{name}: {free / 1e9:,.1f} GB free, {f'{files.f_favail:,}' if files.f_files else 'any number of'} more files"
    todo = "" if free >= LITTLE and not few else f"make room, or {move}; beirflow estimate my.yaml says what a run needs"
    yield Finding(WARNING if todo else OK, what, found, todo)
    if lock is not None:
        yield Finding(WARNING, what, f"files cannot be locked there ({lock})", "take care that one run at a time writes there")
    elif option := local_locks(here):
        yield Finding(
            WARNING, what, f"mounted with {option}", "its locks hold on this machine alone: run on one machine at a time"
        )


def of_machine() -> Iterator[Finding]:
    """Yield cores and memory, and the limits of a container or a job."""
    import math
    import os

    import psutil

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit, memory = cgroup_limits()
    whole = psutil.virtual_memory().total
    if limit is not None and limit < usable:
        todo = f"Snakemake's '--cores all' is {usable}; use --cores {max(1, math.floor(limit))}"
        yield Finding(WARNING, "cores", f"{usable}, of which this container or job may use {limit:g}", todo)
    else:
        yield Finding(OK, "cores", f"{usable} of {os.cpu_count()}")
    limited = memory is not None and memory < whole
    found = f"{memory / 1e9:,.1f} GB, the limit of this container or job, of {whole / 1e9:,.1f} GB" if limited and memory else ""
    yield Finding(OK, "memory", found or f"{whole / 1e9:,.1f} GB")


def cgroup_limits(
    root: Path = Path("/sys/fs/cgroup"), process: Path = Path("/proc/self/cgroup")
) -> tuple[float | None, float | None]:
    """Return the cores and the bytes of memory to which control groups limit this process; None without a limit.

    The limit is the least of its group and those above it.
    """
    lines = process.read_text().splitlines() if process.is_file() else []
    own = [root / line.removeprefix("0::").lstrip("/") for line in lines if line.startswith("0::")]
    groups = [group for below in own for group in (below, *below.parents) if group == root or root in group.parents]
    shares = [numbers for group in groups if len(numbers := _numbers(group / "cpu.max")) == 2]
    memory = [number for group in groups for number in _numbers(group / "memory.max")]
    return min((quota / period for quota, period in shares), default=None), min(memory, default=None)


def _numbers(path: Path) -> list[float]:
    """Return the numbers in a file; none if it has a word, ``max``, or is not there."""
    try:
        return [float(word) for word in path.read_text().split()]
    except (OSError, ValueError):
        return []
