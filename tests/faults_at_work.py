"""Do to a running workflow what machines and people do to it, and look at what is left."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from beirflow.core.kinds import TRACES
from workflow_runs import Workflow

OUTPUT = "output-of-test.txt"
MEASURED = {
    "written",
    "made_by",
    "repository",
    "seconds",
    "computation",
    "documents_per_second",
    "record_sha256",
    "metrics_sha256",
}
"""Keys that differ between two runs that find the same: times, the state of the code, digests of files that hold times."""

HOLD_TIMES = re.compile(r"(embeddings|postings|tokens|pairs|runs|metrics)/.*\.json|summary\.csv")
"""Files whose digests therefore differ too, as inputs and outputs of others; those of corpora and models hold no times."""

WITHOUT_FORK_SERVER = """
import os
def pidfd_open(*_):
    raise OSError("as before Linux 5.3")
os.pidfd_open = pidfd_open
"""
"""For a sitecustomize.py: Snakemake itself starts the processes of jobs."""


def start(workflow: Workflow, *arguments: str, cores: int | None = 2) -> subprocess.Popen[bytes]:
    """Start Snakemake with a process group of its own, as a terminal does; what it prints goes to a file.

    Under nohup it would ignore what a terminal's Ctrl-C sends, so that is undone.
    """
    with (workflow.folder / OUTPUT).open("wb") as output:
        return subprocess.Popen(
            workflow.command(*arguments, cores=cores),
            cwd=workflow.repository,
            env={**os.environ, **workflow.environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )


def printed(workflow: Workflow) -> str:
    """Give the output of a started run so far."""
    return (workflow.folder / OUTPUT).read_text(encoding="utf-8")


def logged(workflow: Workflow) -> str:
    """Give the log of Snakemake's last run so far."""
    logs = sorted((workflow.folder / ".snakemake/log").glob("*.log"))
    return logs[-1].read_text(encoding="utf-8") if logs else ""


def wait_until(happened: Callable[[], object], process: subprocess.Popen[bytes] | None = None, seconds: float = 300) -> bool:
    """Wait, looking many times a second; False if the process ended, or the time, before it happened."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline or (process and process.poll() is not None):
            return False
        time.sleep(0.004)
    return True


def all_ended(leader: int) -> bool:
    """Wait until all processes of a started run have ended, jobs and what forks them too; False if one does not."""
    return wait_until(lambda: not _session(leader))


def _session(leader: int) -> list[int]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, ProcessLookupError):  # it has ended meanwhile
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def unlock(workflow: Workflow) -> None:
    """The one thing that Snakemake asks for after it was killed."""
    if list((workflow.folder / ".snakemake/locks").glob("*")):
        workflow.run("--unlock")


def unfinished(folder: Path) -> list[str]:
    """List the files of a folder of results under names that no result has, also while folders in it come and go."""
    found = (Path(parent, name) for parent, folders, files in os.walk(folder) for name in [*folders, *files])
    return sorted(str(path) for path in found if is_unfinished(path))


def is_unfinished(path: Path) -> bool:
    """Test whether a file is half written, by its name."""
    return ".partial" in path.name or path.suffix == ".part"


def result_files(folder: Path) -> dict[str, Path]:
    """Every file of a folder of results, by its name there, without what jobs said and took."""
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path for name, path in files.items() if not name.startswith(TRACES)}


def results(folder: Path) -> dict[str, Any]:
    """Read these files without their measured values."""
    return {name: _content(path) for name, path in result_files(folder).items()}


def _content(path: Path) -> Any:
    if path.suffix == ".json":
        return _without_measured(json.loads(path.read_text(encoding="utf-8")))
    if path.suffix == ".csv":
        return [_without_measured(row) for row in csv.DictReader(path.open(encoding="utf-8"))]
    return path.read_bytes()


def _without_measured(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: "some digest" if HOLD_TIMES.fullmatch(key) else _without_measured(item)
            for key, item in value.items()
            if key not in MEASURED
        }
    return value


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a disk of its own, in memory; skips the test where that is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"mounting is not allowed here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a folder one that cannot be written, root or not; skips the test where mounting is not allowed."""
    with small_disk(folder.with_name("read-only-of-test"), "1k"):  # may be skipped, before anything is bound
        pass
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def filled(disk: Path, left: int) -> Iterator[None]:
    """Fill a disk so that a number of bytes is left, in blocks of 4096."""
    filler = disk / "filler-of-test"
    with filler.open("wb") as stream:
        missing = shutil.disk_usage(disk).free - left
        while missing > 0:
            missing -= stream.write(bytes(min(missing, 1 << 20)))
    try:
        yield
    finally:
        filler.unlink()
