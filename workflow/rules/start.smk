"""Before the first job: only one run at a time, and no job of an earlier run, may write the results."""

import signal
from pathlib import Path

import snakemake_logger_plugin_beirflow
from beirflow.audit.folder.folders import check_audit_folders
from beirflow.config.config_files import NO_CORE
from beirflow.config.checks import check_installed, check_planned, check_rule_names
from beirflow.config.hours import job_work
from beirflow.report.overview import closest_target, existing_summary, next_step
from beirflow.core.disks import check_dates
from beirflow.core.progress import logged_share
from beirflow.run.interrupts import (
    interrupt_once,
    on_signal,
    repeat_swallowed_interrupts,
    stop_jobs,
)
from beirflow.run.job import logged_error
from beirflow.run.overall import Overall
from beirflow.run.provenance import (
    end_jobs_with_this_process,
    keep_folders_off_the_path,
    name_the_user,
    note_start,
    typed_command,
)
from beirflow.run.results_lock import LOCK, begin_run, check_run, living_run
from beirflow.run.rule_job import remove_old_files
from beirflow.run.worker import start_worker
from beirflow.run.undocumented import rerun_failed_jobs
from beirflow.ranking.run_settings import check_run_settings

name_the_user()
end_jobs_with_this_process()
if not preset:
    keep_folders_off_the_path()
logs = Path(this_run.path(at(layout.LOG))).parent
terminal = None


def check_kept_runs():
    """Compare the settings of runs that no job of this run makes with the configuration."""
    kept, runs = this_run.kept_files, experiment.needed_runs
    record = at(layout.RUN_RECORD)
    there = [
        (system, dataset)
        for system, dataset in runs
        if this_run.path(record.format(system=system, dataset=dataset)) in kept
    ]
    check_run_settings(experiment.configured_runs(there), logs.parent, configured)


def nothing_to_do():
    try:
        check_kept_runs()
    except BeirflowError as error:
        sys.exit(str(error))  # Snakemake would add lines of its own files
    return existing_summary(logs.parent / layout.SUMMARY, this_run.command)


if this_run.is_main:
    if (cores := this_run.limits.get("_cores", 1)) < 1:
        sys.exit(NO_CORE.format(cores))  # Snakemake would wait for ever
    if newer:
        logger.warning(newer)
    repeat_swallowed_interrupts()
    on_signal(signal.SIGINT, stop_jobs)
    rerun_failed_jobs()
    terminal = snakemake_logger_plugin_beirflow.current
    if terminal:
        on_signal(signal.SIGINT, terminal.interrupt)
        on_signal(signal.SIGTERM, terminal.stop)
        # Rules are known only after all are read.
        terminal.follow(
            snakemake_logger_plugin_beirflow.Workflow(
                command=typed_command(sys.argv),
                nothing=nothing_to_do,
                meant=lambda target: closest_target(
                    target, logs.parent, experiment, this_run.rules
                ),
                living=lambda: living_run(logs),
                error=logged_error,
                share=logged_share,
            )
        )
    else:
        logger.info(
            "These are Snakemake's own messages; --logger beirflow shows jobs, progress and the reasons of failures in short."
        )
    if this_run.is_dry:
        logger.info(
            f"To estimate the cost of a run: snakemake --cores all{configured} -- estimate"
        )
else:
    try:
        check_run(logs)
    except BeirflowError as error:
        raise WorkflowError(str(error)) from None


onstart:
    interrupt_once(terminal.note_interrupt if terminal else lambda: None)
    this_run.start_jobs_at_any_rate()
    note_start(sys.argv)
    remove_old_files()
    jobs = this_run.planned_jobs
    try:
        check_rule_names(this_run.named_rules, this_run.rules)
        check_kept_runs()
        planned = {job.rule for job in jobs.values()}
        check_planned(experiment, planned)
        if this_run.is_in_this_python:
            check_installed(experiment, jobs.values())
        if "audit" in planned:
            own = this_run.path(layout.RESULTS)
            of_audit = experiment.options("audit")
            others, output = of_audit.get("folder"), of_audit.get("output")
            check_audit_folders(own, others, output, moved=this_run.is_moved)
        for job in jobs.values():
            if in_bucket and job.computes and not job.writes:
                raise BeirflowError(
                    f"{job.rule} looks at a folder, but the results are in {this_run.bucket}: copy them to this machine first, e.g."
                    f" with `aws s3 sync {this_run.bucket}/results results`, and run it without --default-storage-provider"
                )
        if not jobs or any(  # of an unknown plan
            job.writes or job.rule == "clean_representations"
            for job in jobs.values()
        ):
            begin_run(logs)
            check_dates(this_run.read_files, logs / LOCK)
            # A run that was killed before Snakemake removed them left them behind.
            this_run.remove_temporary_inputs("merge_chunks", "candidates")
    except BeirflowError as error:
        raise WorkflowError(str(error)) from None
    if terminal:
        # A name for files, such as report, takes no time.
        work = {
            number: (job.rule, job.wildcards)
            for number, job in jobs.items()
            if job.computes
        }
        terminal.plan(Overall(job_work(experiment, logs.parent, work)))
    if this_run.executor == "slurm":
        logger.warning(
            "The executor slurm fails jobs while SLURM does not answer, and waits for lost ones. The executor beirflow-slurm does neither:"
            " docs/cluster.md"
        )
    functions = {function for job in jobs.values() for function in job.functions}
    if functions and this_run.is_in_this_python and sys.platform == "linux":
        start_worker({function.partition(":")[0] for function in functions})


onerror:
    if terminal:
        terminal.fail()


onsuccess:
    if terminal:
        terminal.say(next_step(this_run.command, logs.parent, configured))
