"""The origin of a result: commit, versions, machine, command and user; and what Snakemake's process passes to its jobs."""

import getpass
import os
import platform
import re
import shlex
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from beirflow import WORKFLOW
from beirflow.core.addresses import without_credentials
from beirflow.core.errors import ConfigError
from beirflow.run.hardware import processor
from beirflow.run.interrupts import end_with_this_process

COMMIT = re.compile("[0-9a-f]{40}")

REPOSITORY = WORKFLOW.parent  # of a checkout; an installed package has no Snakefile there

SECRET = re.compile(r"(--storage-\S*(?:key|token|password|secret)[^\s=]*)(=?)(.*)", re.DOTALL)
"""Option of a storage plugin with a secret value, after it or in the next argument."""

COMMAND, STARTED = "BEIRFLOW_COMMAND", "BEIRFLOW_STARTED"
"""Environment variables with the command and the start of the run, for its jobs."""

TYPED = "BEIRFLOW_TYPED"
"""Environment variable with the command that a user typed, where that is not Snakemake's."""

PACKAGES = (
    *("torch", "transformers", "tokenizers", "safetensors", "huggingface_hub", "snakemake"),
    *("numpy", "pandas", "pyarrow", "scipy", "pytrec-eval-terrier", "orjson"),
)
"""Packages that numbers may depend on."""

VERSIONS = {"snakemake": ("9.20", "9.27")}
"""Oldest and newest minor versions with which this package was tried."""


@cache
def code_state(folder: Path = REPOSITORY) -> dict[str, Any]:
    """Return ``commit`` of a folder with ``Snakefile``, ``src`` and ``workflow``, and ``clean``, whether all are as committed.

    Both values are None where the folder is not a checkout, or without git. They are those of the first call, since this process
    has read its code by then.
    """
    unknown = {"commit": None, "clean": None}
    if _git(folder, "ls-files", "--error-unmatch", "Snakefile") is None:
        return unknown  # perhaps a copy inside a checkout of something else
    commit = _git(folder, "rev-parse", "--verify", "HEAD")
    # Files that git does not know count as a change: an uncommitted module may have run.
    status = _git(folder, "status", "--porcelain", "--", "Snakefile", "src", "workflow")
    return unknown if commit is None or status is None else {"commit": commit, "clean": not status}


def _git(folder: Path, *arguments: str) -> str | None:
    """Return git's output about a folder, without the last newline; None without an answer."""
    try:
        command = ["git", "-C", str(folder), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def command_of(arguments: Sequence[str]) -> str:
    """Return a command, the program first, quoted for a shell, without passwords in addresses and keys of buckets."""
    program = Path(arguments[0])  # of `python -m snakemake`, a file of its package
    shown, hidden = [program.parent.name if program.name == "__main__.py" else program.name], False
    for argument in arguments[1:]:
        option = SECRET.fullmatch(argument)
        shown.append("..." if hidden else f"{option[1]}=..." if option and option[2] else argument)
        hidden = option is not None and not option[2]
    return without_credentials(shlex.join(shown))


def typed_command(arguments: Sequence[str]) -> str:
    """Return the command that a user typed, for messages; ``arguments`` are those of this process, the program first."""
    return os.environ.get(TYPED) or command_of(arguments)


def note_start(arguments: Sequence[str]) -> None:
    """Tell the jobs of this run its command, the program first, and when it began."""
    os.environ[COMMAND] = command_of(arguments)
    os.environ[STARTED] = datetime.now(UTC).isoformat(timespec="seconds")


def run_of_this_job() -> dict[str, str | None]:
    """Return command, begin and user of the run that a job belongs to; None for unknown ones."""
    try:
        user: str | None = getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        user = None
    return {"command": os.environ.get(COMMAND), "started": os.environ.get(STARTED), "user": user}


def name_the_user() -> None:
    """Set USER to ``uid-<n>`` if the user has no name, as in a container: Snakemake does not start without a name."""
    try:
        getpass.getuser()
    except (KeyError, OSError):  # OSError since Python 3.13
        os.environ["USER"] = f"uid-{os.getuid()}"


def environment() -> dict[str, Any]:
    """Return machine, Python, platform, and versions of the packages; None for a package that is not installed here."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def check_version(package: str, installed: str | None = None) -> str:
    """Return a sentence about a version, by default the installed one, that is newer than those tried; empty if it is not.

    Raises ConfigError for an older one.
    """
    installed, (oldest, newest) = installed or metadata.version(package), VERSIONS[package]
    if _numbers(installed) < _numbers(oldest):
        raise ConfigError(
            f"{package} {installed} is installed; this workflow needs at least {oldest}. Install it with:"
            f" pip install '{package}>={oldest}'"
        )
    if _numbers(installed) > _numbers(newest):
        return f"{package} {installed} is newer than {newest}, the newest with which this workflow was tried."
    return ""


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)[:2]))


def keep_folders_off_the_path() -> None:
    """Keep the working folder, which may be by others, from jobs' search path of Python.

    An empty or relative entry of PYTHONPATH means another folder in a job than where the command was given.
    """
    os.environ["PYTHONSAFEPATH"] = "1"
    if entries := os.environ.get("PYTHONPATH"):
        os.environ["PYTHONPATH"] = os.pathsep.join(each for each in entries.split(os.pathsep) if Path(each).is_absolute())


def search_first(folders: Sequence[Path]) -> None:
    """Let jobs search some folders before others for modules."""
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    own = [str(folder) for folder in folders]
    if path := os.pathsep.join([*own, *(each for each in entries if each and each not in own)]):
        os.environ["PYTHONPATH"] = path


def end_jobs_with_this_process() -> None:
    """Let every job end with this process. Snakemake puts this prefix before the command of a rule."""
    from snakemake.shell import shell

    shell.prefix(end_with_this_process())
