"""A GPU for this process: a file lock on a slot, which the kernel releases however the process ends.

Every run of a user on a machine shares one folder of lock files, named by the GPUs' UUIDs. There is nothing to clean up: a file
without a lock means nothing, and a lock does not outlive its process.
"""

import fcntl
import logging
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from beirflow.core.errors import DeviceError
from beirflow.run.gpus import Gpu

logger = logging.getLogger(__name__)

MOST_JOBS_PER_GPU = 16  # limit of ``jobs_per_gpu`` in the schema of the configuration

ASK_AGAIN_SECONDS = 0.5
REPORT_SECONDS = 60.0


def lock_folder() -> Path:
    """Return the folder of lock files, BEIRFLOW_LOCKS or one in /tmp; DeviceError if it is no folder or others may write there.

    Not in TMPDIR or XDG_RUNTIME_DIR, which differ between two logins and jobs of one user, who would then share nothing.
    """
    folder = Path(os.environ.get("BEIRFLOW_LOCKS") or f"/tmp/beirflow-{os.getuid()}")  # noqa: S108 (checked below)
    todo = "remove it, or set BEIRFLOW_LOCKS to a folder of your own on this machine, the same for all runs"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.lstat()
    except OSError as error:
        raise DeviceError(f"the folder of GPU locks, {folder}, cannot be made ({error}); {todo}") from error
    if not stat.S_ISDIR(state.st_mode):
        raise DeviceError(f"the folder of GPU locks, {folder}, is a link and not a folder; {todo}")
    if state.st_uid != os.getuid():
        raise DeviceError(f"the folder of GPU locks, {folder}, belongs to user {state.st_uid}, not to you; {todo}")
    if state.st_mode & 0o022:
        raise DeviceError(f"the folder of GPU locks, {folder}, can be written by others; {todo}")
    return folder


def lease(most_jobs: Mapping[Gpu, int]) -> Gpu:
    """Wait for a place on a GPU and take it until this process ends; the one with the fewest jobs, and of these the first.

    ``most_jobs`` has the number of jobs that each GPU takes, this one included. Raises DeviceError if the folder of lock files
    cannot be used.
    """
    folder = lock_folder()
    start, reported = time.time(), 0.0
    while True:
        gpu, holders = _take(folder, most_jobs)
        if gpu:
            waited = time.time() - start
            logger.info("uses %s, for which it waited %.1f s", gpu, waited)
            return gpu
        if time.monotonic() - reported >= REPORT_SECONDS or not reported:
            reported = time.monotonic()
            since = time.strftime("%H:%M:%S", time.localtime(start))
            places = sum(most_jobs.values())
            logger.info("waiting since %s for one of %d GPUs, %d jobs in all: %s", since, len(most_jobs), places, holders)
        time.sleep(ASK_AGAIN_SECONDS)


def jobs_on(gpu: Gpu) -> int:
    """Return the number of jobs that hold a place on a GPU now; DeviceError if the folder of lock files cannot be used."""
    folder = lock_folder()
    with _looking(folder):
        return sum(bool(_holder(path)) for path in _places(folder, gpu))


@contextmanager
def _looking(folder: Path) -> Iterator[None]:
    """Let one process probe at a time: a probe briefly holds the lock, and another process would take it for a job."""
    looking = _open(folder / "looking")
    try:
        fcntl.flock(looking, fcntl.LOCK_EX)
        yield
    finally:
        os.close(looking)


def _places(folder: Path, gpu: Gpu) -> list[Path]:
    # Older names of instances have slashes.
    return [folder / f"{gpu.uuid.replace('/', '_')}.{place}" for place in range(MOST_JOBS_PER_GPU)]


def _take(folder: Path, most_jobs: Mapping[Gpu, int]) -> tuple[Gpu | None, str]:
    """Take a place, if there is one; else return the holders."""
    with _looking(folder):
        free: dict[Gpu, list[Path]] = {gpu: [] for gpu in most_jobs}
        holders = []
        for gpu in most_jobs:
            for path in _places(folder, gpu):
                if holder := _holder(path):
                    holders.append(f"{gpu} by {holder}")
                else:
                    free[gpu].append(path)
        # All places are counted, since another run may allow more jobs than this one.
        open_to_this = [gpu for gpu, most in most_jobs.items() if MOST_JOBS_PER_GPU - len(free[gpu]) < most]
        if not open_to_this:
            return None, ", ".join(holders)
        # The first of equals, so that jobs fill a machine in the order in which a person counts its GPUs.
        gpu = max(open_to_this, key=lambda gpu: len(free[gpu]))
        _lock(free[gpu][0])
        return gpu, ""


def _open(path: Path) -> int:
    """Return a descriptor of a lock file; processes that this one starts do not inherit it."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise DeviceError(f"the GPU lock {path} cannot be opened ({error}); remove {path.parent}") from error


def _holder(path: Path) -> str:
    """Name the holder of a lock; empty without one."""
    if not path.exists():
        return ""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, 100, 0).decode(errors="replace") or "an unknown process"
    else:
        return ""
    finally:
        os.close(descriptor)


def _lock(path: Path) -> None:
    """Take a lock that nobody holds; the descriptor stays open as long as the process lives."""
    descriptor = _open(path)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.ftruncate(descriptor, 0)
    # Writing also makes the file young, so that what cleans up in /tmp leaves it.
    os.pwrite(descriptor, f"process {os.getpid()} since {time.strftime('%F %T')}".encode(), 0)
