"""Before the first job: only one run at a time, and no job of an earlier run, may write the results.

REQUIRED INPUTS
  none

OUTPUTS
  <results>/logs/results.lock    held by the writing run, see jobs/results_lock.py

STEPS
  - a user without a name gets one, which Snakemake asks for
  - the terminal shows jobs, progress and our messages; Snakemake's output goes to its log
  - jobs that failed run again, whatever else is there
  - note the command and the time for the manifest
  - a run with jobs takes the lock of the results, and removes candidates that a killed run had merged
  - on SLURM, the submitting host follows its jobs, waits for an unreachable controller, and says why jobs wait
  - a job on another machine ends, before Snakemake removes a file, if another run has taken the lock
"""

import os
from pathlib import Path

from snakemake.jobs import Job
from snakemake.logging import logger
from snakemake.persistence import PersistenceBase

from beirflow.evaluation.job_work import job_work
from beirflow.evaluation.table_again import table_again
from beirflow.experiment.targets import meant
from beirflow.jobs.failed_jobs import rerun_failed_jobs
from beirflow.jobs.overall import Overall
from beirflow.jobs.provenance import command_of, note_start
from beirflow.jobs.results_lock import begin_run, check_run
from beirflow.jobs.slurm_host import stand_by_slurm
from beirflow.jobs.terminal import take_over_terminal
from beirflow.jobs.user_name import name_the_user

name_the_user()
logs = Path(workflow.pathvars.apply(at(layout.LOG))).parent

try:
    if not workflow.is_main_process:
        check_run(logs)
except BeirflowError as error:
    raise WorkflowError(str(error)) from None


def remove_merged_candidates():
    """Remove candidates whose merge is done: a run that was killed before Snakemake removed them left them behind."""
    for job in workflow.dag.jobs:
        if job.rule.name == "merge_chunks" and not workflow.dag.needrun(job):
            if any(map(os.path.exists, job.input.candidates)):
                workflow.async_run(workflow.dag.handle_temp(job))


configured = "".join(f" --configfile {path}" for path in workflow.overwrite_configfiles)
terminal = None
if workflow.is_main_process:
    rerun_failed_jobs(Job, PersistenceBase)
    dry = workflow.output_settings.dryrun
    # Targets and rules are known only after all rules are read.
    terminal = take_over_terminal(
        logger,
        command_of(sys.argv),
        lambda: table_again(
            logs.parent / layout.SUMMARY, workflow.dag_settings.targets
        ),
        lambda target: meant(
            target, logs.parent, experiment, [rule.name for rule in workflow.rules]
        ),
        dry=dry,
    )
    if dry:
        logger.info(
            f"To estimate the cost of a run: snakemake --cores all{configured} -- estimate"
        )


onstart:
    note_start(sys.argv)
    try:
        for job in workflow.dag.needrun_jobs():
            if in_bucket and job.rule.script and not job.output:
                bucket = workflow.storage_settings.default_storage_prefix
                raise BeirflowError(
                    f"{job.rule.name} looks at a folder, but the results are in {bucket}: copy them to this machine first, e.g."
                    f" with `aws s3 sync {bucket}/results results`, and run it without --default-storage-provider"
                )
        if any(
            job.output or job.rule.name == "clean_representations"
            for job in workflow.dag.needrun_jobs()
        ):
            begin_run(logs)
            remove_merged_candidates()
    except BeirflowError as error:
        raise WorkflowError(str(error)) from None
    if terminal:
        jobs = {
            workflow.dag.jobid(job): (job.rule.name, dict(job.wildcards.items()))
            for job in workflow.dag.needrun_jobs()
        }
        terminal.plan(Overall(job_work(experiment, logs.parent, jobs)))
    if not workflow.local_exec:
        stand_by_slurm()
