"""Try every configured system on a tiny dataset, before a run takes hours.

REQUIRED INPUTS
  workflow/trial/    24 documents and 4 queries in BEIR form

OUTPUTS
  none for other rules: it writes <results>/try/, results of their own

STEPS
  - run this workflow with the same systems and settings on this dataset; print the message of each system that fails
"""

from beirflow.config.asked import all_cores


rule try:
    log:
        "<results>/logs/try.log",
    localrule: True
    conda:
        "../../envs/encode.yaml"
    threads: all_cores(this_run.limits)
    params:
        **calls(
            "beirflow.config.trial:try_systems",
            experiment="beirflow.config.load:load_experiment()",
        ),
        command=command_of("try"),
        snakefile=str(SNAKEFILE),
        limits=this_run.limits,
    message:
        "try the systems on a tiny dataset"
    shell:
        RUN_JOB
