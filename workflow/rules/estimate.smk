"""Estimate the cost of a run before it starts.

REQUIRED INPUTS
  none: it reads <results>/ as it is; the records there have the speed of the systems

OUTPUTS
  none: it prints

STEPS
  - sum up the missing results, by dataset, by system and in total: download, peak disk use, tokens, jobs and time
"""


rule estimate:
    log:
        "<results>/logs/estimate.log",
    localrule: True
    conda:
        "../../envs/report.yaml"
    params:
        **calls(
            "beirflow.config.estimate:estimate",
            experiment="beirflow.config.load:load_experiment()",
        ),
        command=command_of("estimate"),
        configured=configured,
        on=experiment.options("estimate").get("on"),
    message:
        "estimate the cost of the run"
    shell:
        RUN_JOB
