"""Before the first job: one run at a time writes the results, wherever it was started, and no job of a run before it does.

REQUIRED INPUTS
  none

OUTPUTS
  <results>/logs/results.lock    held by whoever writes the results, see jobs/results_lock.py

STEPS
  - the terminal shows jobs, how far the work is, and sentences of ours; what Snakemake says goes to its log
  - the command and the time are noted for the manifest
  - a run that will write takes the results
  - on SLURM, the submitting host waits for a controller that is away, and says why jobs wait
  - a job on another machine ends, before Snakemake removes anything, if another run has taken the results meanwhile
"""

from pathlib import Path

from snakemake.logging import logger

from beirflow.evaluation.job_work import job_work
from beirflow.evaluation.table_again import table_again
from beirflow.experiment.targets import meant
from beirflow.jobs.overall import Overall
from beirflow.jobs.provenance import command_of, note_start
from beirflow.jobs.results_lock import begin_run, check_run
from beirflow.jobs.slurm_host import stand_by_slurm
from beirflow.jobs.terminal import take_over_terminal

logs = Path(workflow.pathvars.apply(at(layout.LOG))).parent

try:
    if not workflow.is_main_process:
        check_run(logs)
except BeirflowError as error:
    raise WorkflowError(str(error)) from None

configured = "".join(f" --configfile {path}" for path in workflow.overwrite_configfiles)
terminal = None
if workflow.is_main_process:
    dry = workflow.output_settings.dryrun
    # What is asked for, and which rules there are, is known only after all rules are.
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
            f"What a run costs is said by: snakemake --cores all{configured} -- estimate"
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
