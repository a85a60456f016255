"""The start of a job by one Snakemake, and the note of its end.

snakemake-executor-plugin-slurm 2.8.0 lets a job start two Snakemakes, one inside the other: the first places the second with
srun, except in an array (its issue 467). The second alone runs here, where SLURM has started the job, which has one task.
Unnecessary once that plug-in can leave the first out, and tasks of an array check their own outputs (its issue 447).
"""

import shlex
from typing import Any

from . import array_task
from .upstream_methods import has_method


class SingleSnakemake:
    """Base class to be put before the plug-in's ``Executor``."""

    WITHOUT = "each job starts two Snakemakes, and tasks of an array check the outputs of the first one"

    @staticmethod
    def fits(plugin: type) -> bool:
        """Test whether the plug-in starts jobs and passes the commands of array tasks as expected."""
        return (
            has_method(plugin, "get_python_executable")
            and has_method(plugin, "additional_general_args", "", "--executor slurm-jobstep")
            and has_method(plugin, "get_job_args", "job")
            and has_method(plugin, "run_array_jobs", "jobs", array_task.OPTION)
        )

    def get_python_executable(self) -> str:
        """Return the first words of the command of a job, which start a task of an array as its own job."""
        python = shlex.quote(super().get_python_executable())  # type: ignore[misc]
        return f"{python} -IS {shlex.quote(array_task.__file__)} {python}"

    def get_job_args(self, job: Any) -> str:
        """Return the arguments of a job, and where it notes its end."""
        note = shlex.quote(f"{array_task.NOTE}{self.tmpdir}/{note_of(job)}")  # type: ignore[attr-defined]
        return f"{super().get_job_args(job)} {note}"  # type: ignore[misc]

    def additional_general_args(self) -> str:
        """Return what the plug-in adds to the command of a job: nothing, for a Snakemake that runs the job itself."""
        return ""


def note_of(job: Any) -> str:
    """Return the name of the note that says that this attempt of a job has ended well."""
    return f"{job.jobid}-{job.attempt}"
