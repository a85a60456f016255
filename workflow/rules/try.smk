"""Try every configured system on a tiny dataset, before a run takes hours."""

from beirflow.config.rule_inputs import all_cores


use rule encode_job as try with:
    log:
        "<results>/logs/try.log",
    localrule: True
    threads: all_cores(this_run.limits)
    params:
        **job(
            "try",
            "beirflow.config.trial:try_systems",
            experiment="beirflow.config.load:load_experiment()",
        ),
        snakefile=str(SNAKEFILE),
        limits=this_run.limits,
    message:
        "try the systems on a tiny dataset"
