"""Rerun of failed jobs: the next run starts with them, even if all files that it was asked for are there.

Snakemake deletes the outputs of a failed job and records its parameters like those of a job that ended well. If results of an
earlier run were made from such outputs, the next run sees no change and makes nothing, although these results are out of date.

Snakemake marks the outputs of a running job, and makes marked ones again if they are there (``--rerun-incomplete``). Here a
failed job keeps its marks, and marks of missing files count too.
"""

from typing import Any


def rerun_failed_jobs() -> None:
    """Let this process keep the marks of failed jobs, and heed marks of missing files."""
    from snakemake.jobs import Job
    from snakemake.persistence import PersistenceBase

    postprocess = Job.postprocess

    async def postprocess_and_mark(job: Any, *arguments: Any, error: bool = False, **options: Any) -> None:
        await postprocess(job, *arguments, error=error, **options)  # removes the marks of every job that has ended
        if error:
            job.dag.workflow.persistence.started(job)

    async def marked_outputs(persistence: Any, job: Any) -> list[Any]:
        """Return the marked outputs of a job, missing ones included."""
        keys = {persistence._get_key(path): path for path in job.output}
        return [keys[key] for key in persistence._filter_incomplete_keys(keys)]

    Job.postprocess = postprocess_and_mark
    PersistenceBase.incomplete = marked_outputs
