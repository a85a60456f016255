"""Write access to the results: one run at a time, and one instance of every job.

Snakemake's own lock belongs to a working folder. Two folders may have the same results, and if two runs of one folder write
different results, the first to end removes the lock of the other. A cluster job may also outlive the run that submitted it, or
be submitted twice. Therefore a run locks a byte of a file in the results, and every job another byte, chosen by its name. The
operating system releases them however a process ends; on a network file system with locks, this holds between machines.

The file names the run. A job of an earlier run, which waited in a queue meanwhile, ends before it changes anything.
"""

import errno
import fcntl
import hashlib
import json
import logging
import os
import secrets
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from beirflow.core.disks import local_locks
from beirflow.core.errors import LockError
from beirflow.core.outside_json import parse_json

logger = logging.getLogger(__name__)

RUN = "BEIRFLOW_RUN"  # environment variable with the run of a job; SLURM passes it to its nodes
LOCK = "results.lock"  # the file, in the folder of the logs: no result depends on it
RUN_BYTE, JOB_BYTES = 0, 1  # the byte of the run, and the first of those of jobs

PLACES = 1 << 56
"""Bytes for jobs, none of which is written: two of a million jobs share one with a chance of 1 to 100,000, and take turns."""

GRACE_SECONDS = 5.0  # time in which the jobs of a run that was killed end after it

ELSEWHERE = "wait until it has ended, or write elsewhere: --config results=another-folder"

ASK_AGAIN_SECONDS = 0.5
REPORT_SECONDS = 60.0


def begin_run(logs: Path) -> None:
    """Take the results for a run, until this process ends; ``logs`` is the folder of the logs, which may be missing.

    Raises LockError if another run has them, or if jobs of a former run still write there.
    """
    try:
        logs.mkdir(parents=True, exist_ok=True)
        descriptor = _descriptor(logs / LOCK)
        before = _read(descriptor)
        # Not by the name in the file, which stays when a run is killed: only the kernel knows who lives.
        if not _take(descriptor, RUN_BYTE):
            raise LockError(_writes(logs, before))
        run = secrets.token_hex(8)
        since, where = time.strftime("%F %T"), f"process {os.getpid()} on {socket.gethostname()}, in {Path.cwd()}"
        _write(descriptor, {"run": run, "description": f"a run since {since}, {where},"})
        os.environ[RUN] = run
        # The name is written before locks of jobs are looked for, and a job looks for the name once it has its lock: of one that
        # starts in between, either its lock is seen here, or it sees this name and ends.
        if not _without_jobs(descriptor):
            # The file names the run whose jobs still live, so that these stay valid.
            _write(descriptor, before)
            fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, RUN_BYTE)
            problem = (
                f"{logs.parent}: jobs of {before.get('description', 'an earlier run')} still write these results after its end"
            )
            todo = "wait for them or cancel them; on SLURM, squeue --me --Format=name:60 names them and scancel --name ends them"
            raise LockError(f"{problem}; {todo}")
        if option := local_locks(logs):
            problem = f"{logs.parent} is mounted with {option}, so that its locks hold on this machine alone"
            logger.warning("%s; take care that no run or job on another one writes these results", problem)
    except OSError as error:  # jobs cannot write here either, and will report it
        os.environ.pop(RUN, None)
        logger.warning("%s cannot be locked (%s); take care that no other run writes these results", logs / LOCK, error)


def living_run(logs: Path) -> str | None:
    """Return the remedy for a run that locks the results of these logs; None without one. A link or a pipe is no lock."""
    lock = logs / LOCK
    if logs.is_symlink() or lock.is_symlink() or not lock.is_file():
        return None
    with suppress(OSError):  # it cannot be locked here, so no run could
        if not _take(descriptor := _descriptor(lock), RUN_BYTE):
            return _writes(logs, _read(descriptor))
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, RUN_BYTE)
    return None


def _writes(logs: Path, run: Mapping[str, str]) -> str:
    return f"{logs.parent}: {run.get('description', 'another run')} writes these results; {ELSEWHERE}"


def check_run(logs: Path) -> None:
    """Raise LockError if another run has taken the results since this job was submitted."""
    mine, run = os.environ.get(RUN), dict[str, str]()
    with suppress(OSError):
        run = _read(_descriptor(logs / LOCK))
    if mine is not None and run.get("run", mine) != mine:
        problem = f"{logs.parent}: {run.get('description')} took these results over after this job had been submitted"
        raise LockError(f"{problem}; the job has changed nothing")


def hold_job(logs: Path, name: str) -> bool:
    """Keep other instances of a job, by rule and wildcards, from running until this process ends; wait for one that runs.

    True if it waited, so that another instance may have made what this one would make. Raises LockError if another run has taken
    the results.
    """
    waited, reported = False, 0.0
    try:
        logs.mkdir(parents=True, exist_ok=True)
        descriptor = _descriptor(logs / LOCK)
        place = JOB_BYTES + int.from_bytes(hashlib.sha256(name.encode()).digest()) % PLACES
        while not _take(descriptor, place):
            if not waited or time.monotonic() - reported >= REPORT_SECONDS:
                reported = time.monotonic()
                logger.warning("%s: waits at %s for another instance of this job, which still runs", name, time.strftime("%F %T"))
            waited = True
            time.sleep(ASK_AGAIN_SECONDS)
    except OSError as error:
        level = logging.WARNING if RUN in os.environ else logging.INFO  # the run has reported that it has no lock
        logger.log(level, "%s cannot be locked (%s); a second instance of this job cannot be detected", logs / LOCK, error)
    check_run(logs)
    return waited


@cache
def _descriptor(path: Path) -> int:
    """Return the file, which stays open: a process that closes it once, even if opened again, loses all locks on it."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)


def _take(descriptor: int, start: int, length: int = 1) -> bool:
    """Lock some bytes, unless another process has locked one of them; a length of 0 reaches to the end of all."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
    except OSError as error:
        # POSIX allows either for a lock that another process holds.
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def _without_jobs(descriptor: int) -> bool:
    """Test whether no job holds a lock, at once or soon."""
    until = time.monotonic() + GRACE_SECONDS
    while not _take(descriptor, JOB_BYTES, 0):
        if time.monotonic() > until:
            return False
        time.sleep(ASK_AGAIN_SECONDS)
    fcntl.lockf(descriptor, fcntl.LOCK_UN, 0, JOB_BYTES)
    return True


def _write(descriptor: int, run: Mapping[str, str]) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(run).encode(), 0)


def _read(descriptor: int) -> dict[str, str]:
    """Read the file: the name of a run and its description; nothing if it was cut."""
    try:
        record = parse_json(os.pread(descriptor, 4096, 0))
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}
