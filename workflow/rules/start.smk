"""Before the first job: one run at a time writes the results, wherever it was started, and no job of a run before it does.

REQUIRED INPUTS
  none

OUTPUTS
  <results>/logs/results.lock    held by whoever writes the results, see jobs/results_lock.py

STEPS
  - the command and the time are noted for the manifest
  - a run that will write takes the results
  - on SLURM, the submitting host waits for a controller that is away, and says why jobs wait
  - a job on another machine ends, before Snakemake removes anything, if another run has taken the results meanwhile
"""

from pathlib import Path

from beirflow.jobs.provenance import note_start
from beirflow.jobs.results_lock import begin_run, check_run
from beirflow.jobs.slurm_host import stand_by_slurm

logs = Path(workflow.pathvars.apply(at(layout.LOG))).parent

try:
    if not workflow.is_main_process:
        check_run(logs)
except BeirflowError as error:
    raise WorkflowError(str(error)) from None


onstart:
    note_start(sys.argv)
    try:
        if any(
            job.output or job.rule.name == "clean_representations"
            for job in workflow.dag.needrun_jobs()
        ):
            begin_run(logs)
    except BeirflowError as error:
        raise WorkflowError(str(error)) from None
    if not workflow.local_exec:
        stand_by_slurm()
