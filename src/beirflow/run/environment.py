"""Surroundings that the process of Snakemake gives to its jobs, by documented means, and the versions of it that are tested."""

import os
import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from beirflow.core.errors import ConfigError
from beirflow.run.lifetime import end_with_this_process

VERSIONS = {"snakemake": ("9.20", "9.27")}
"""Oldest and newest minor versions with which this package was tried."""


def check_version(package: str, installed: str | None = None) -> str:
    """Return a sentence about a version, by default the installed one, that is newer than those tried; empty if it is not.

    Raises ConfigError for an older one.
    """
    installed, (oldest, newest) = installed or version(package), VERSIONS[package]
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
