"""An executor plug-in of Snakemake for SLURM: that of snakemake-executor-plugin-slurm, and what it lacks.

Each part extends methods that are no documented interface of that plug-in. A part that does not fit the installed version is left
out, so that the plug-in's own behaviour remains. :mod:`.submissions`, :mod:`.states` and :mod:`.job_start` name the issues
of that plug-in that would make them unnecessary.
"""

import logging
import re
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import snakemake_executor_plugin_slurm as upstream
from snakemake_executor_plugin_slurm import ExecutorSettings
from snakemake_interface_common.exceptions import WorkflowError

from .job_start import SingleSnakemake
from .states import NOTES_SECONDS, WatchedJobs
from .submissions import RepeatedSubmissions

__all__ = ["Executor", "ExecutorSettings", "common_settings"]

common_settings = replace(upstream.common_settings, init_seconds_before_status_checks=NOTES_SECONDS)
"""Those of the plug-in; jobs are looked after from the start."""

UPSTREAM = "snakemake-executor-plugin-slurm"
OLDEST, TESTED = (2, 8), (2, 8)  # the first version that is accepted, and the last with which this package was tested

PARTS = (RepeatedSubmissions, WatchedJobs, SingleSnakemake)
FITTING = tuple(part for part in PARTS if part.fits(upstream.Executor))


class Executor(*FITTING, upstream.Executor):  # type: ignore[misc]
    """The executor of the installed plug-in, with all parts that fit it."""

    def __init__(self, workflow: Any, logger: logging.Logger) -> None:
        if warning := check_version(version(UPSTREAM), FITTING):
            logger.warning(warning)
        super().__init__(workflow, logger)


def check_version(installed: str, fitting: tuple[type, ...]) -> str:
    """Return the warning about an untested version, or one that parts do not fit; raise WorkflowError for one that is too old."""
    numbers = tuple(map(int, re.findall(r"\d+", installed)[:2]))
    oldest, tested = (".".join(map(str, each)) for each in (OLDEST, TESTED))
    if numbers < OLDEST:
        raise WorkflowError(
            f"{UPSTREAM} {installed} is installed; the executor beirflow-slurm needs at least {oldest}. Install it with:"
            f" pip install '{UPSTREAM}>={oldest},<{OLDEST[0] + 1}'"
        )
    lost = [part.WITHOUT for part in PARTS if part not in fitting]
    if numbers <= TESTED and not lost:
        return ""
    newer = f"{UPSTREAM} {installed} is installed; the executor beirflow-slurm was tested with {tested}"
    return f"{newer}, and does not know some methods of this one: {'; '.join(lost)}" if lost else newer
