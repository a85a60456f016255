"""Uses of Snakemake 9.27 beyond its documentation.

`workflow_run`: plan, limits and options of the run. Unnecessary once ``workflow`` has documented attributes for Snakefiles.

`workflow_run`: temporary files of finished jobs. Unnecessary once Snakemake removes those that a killed run left.

`workflow_run`: ``exec`` before each command. Unnecessary once Snakemake ends its jobs when it is killed.

`rule_jobs`: rules read without a run, and the inputs, outputs and params of a job. Unnecessary once Snakemake's API gives a job.

`failed_jobs`: marks of failed jobs. Unnecessary once Snakemake runs failed jobs again even if all requested files are there.


`names`: files below ``.snakemake``. Unnecessary once a command lists what a run is writing.

The Snakefile asks for its own folder, ``workflow.current_basedir``, before it can import this package. Unnecessary once a
workflow can name a folder of modules.

The Snakefile of the root includes the workflow's by ``workflow.include``. Unnecessary once ``include:`` keeps the default target.

`command_line`: the parser of options, and the program, which the command calls in its own process. Unnecessary once Snakemake's
API takes a command line.
"""
