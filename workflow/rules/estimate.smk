"""Estimate the cost of a run before it starts."""


rule estimate:
    log:
        "<results>/logs/estimate.log",
    localrule: True
    conda:
        "../../envs/report.yaml"
    params:
        **job(
            "estimate",
            "beirflow.config.estimate:estimate",
            experiment="beirflow.config.load:load_experiment()",
        ),
        configured=configured,
        on=experiment.options("estimate").get("on"),
    message:
        "estimate the cost of the run"
    shell:
        RUN_JOB
