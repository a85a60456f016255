"""Disk errors, in words for the person who can help."""

import errno
import os
import shlex
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from beirflow.core.errors import DataError

AGAIN = "and run the same command again, which resumes"
NO_ROOM = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota on this disk is used up",
    errno.EFBIG: "this disk does not allow a file of this size",
}
REFUSED = {errno.EROFS: "the disk is mounted read-only", errno.EACCES: "permission denied", errno.EPERM: "permission denied"}
BROKEN = {errno.EIO: "the disk failed", errno.ESTALE: "the network file system has lost this file"}

ARROW_CLOSES = "error closing file"
"""Message of Arrow's error without a number: network disks and quotas may refuse a write only when the file is closed."""

MOUNTS = Path("/proc/self/mountinfo")
LOCAL_LOCKS = {"nolock", "local_lock=posix", "local_lock=all", "localflock"}
"""Mount options of NFS or Lustre with which locks hold on one machine only."""

AHEAD_SECONDS = 60.0  # which the clock of another machine may be ahead


@contextmanager
def written_here(path: str | Path) -> Iterator[None]:
    """Add the file name to errors in the block without one, such as those of writing to an open file."""
    try:
        yield
    except OSError as error:
        if error.errno is None and ARROW_CLOSES in str(error):
            # Without a number the kind of the error is unknown; the disk failed in any case.
            raise OSError(errno.EIO, str(error), str(path)) from error
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
            if error.errno in BROKEN:  # perhaps while another file was read
                error.strerror = f"{error.strerror}, while it was made"
        raise


def local_locks(folder: Path) -> str | None:
    """Return the mount option that hides locks in a folder from other machines; None without one, or if it is unknown."""
    device = folder.stat().st_dev
    with suppress(OSError):
        for line in MOUNTS.read_text(errors="replace").splitlines():
            _, _, number, *_, options = line.split()
            if number == f"{os.major(device)}:{os.minor(device)}" and (local := LOCAL_LOCKS & set(options.split(","))):
                return min(local)
    return None


def check_dates(paths: Iterable[str], written: Path) -> None:
    """Raise DataError if files are dated in the future, also by the clock of the disk on which ``written`` was written just now.

    What is made from them would be older than they are: Snakemake would make it again and again.
    """
    now = max(time.time(), written.stat().st_mtime if written.is_file() else 0.0)
    dates = {path: os.stat(path).st_mtime for path in paths if os.path.exists(path)}  # noqa: PTH110, PTH116 (thousands)
    if ahead := [path for path, date in dates.items() if date > now + AHEAD_SECONDS]:
        path = ahead[0]
        folder = Path(path).parent if Path(path).is_absolute() else Path.cwd() / Path(path).parts[0]
        dated, others = time.strftime("%F %T", time.localtime(dates[path])), len(ahead) - 1
        raise DataError(
            f"{path} is dated {dated}{f', as {others:,} other files are,' if others else ''}, and now it is"
            f" {time.strftime('%F %T', time.localtime(now))}: a clock is or was wrong, and Snakemake would make all"
            " results of it again and again. Correct the clock, then give all files that are dated in the future the present"
            f' time:\n    find {shlex.quote(str(folder))} -newermt now -exec touch -t "$(date +%Y%m%d%H%M.%S)" {{}} +'
        )


def disk_problem(error: OSError) -> str | None:
    """Return file, refusal, free space and remedy for a disk error of Python or Arrow; None for any other error."""
    known = NO_ROOM | REFUSED | BROKEN
    if error.errno not in known:
        return None
    problem = f"{error.filename or 'a file'}: {known[error.errno]} ({error.strerror})"
    if error.errno in REFUSED:
        return f"{problem}; let the user who runs this read and write there, or move the results with 'results', {AGAIN}"
    if error.errno in BROKEN:
        return f"{problem}; check the disk, {AGAIN}"
    return f"{problem}; {_free(Path(error.filename or '.'))}; make room, or move the results with 'results', {AGAIN}"


def _free(path: Path) -> str:
    """Return the free room, after the job has removed its unfinished files."""
    # The job has removed its file by now, and perhaps the folder.
    folder = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    files = os.statvfs(folder).f_favail
    free = f"{shutil.disk_usage(folder).free / 1e6:,.1f} MB"
    return f"free there, not counting the unfinished files of this job: {free}" + (
        ", but no more files are allowed" if files == 0 else ""
    )
