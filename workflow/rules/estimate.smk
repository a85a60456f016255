"""Estimate the cost of a run before it starts."""


use rule report_job as estimate with:
    log:
        "<results>/logs/estimate.log",
    localrule: True
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
