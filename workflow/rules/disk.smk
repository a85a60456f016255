"""Free disk space: delete representations that results no longer need."""


use rule data_job as clean_representations with:
    log:
        "<results>/logs/clean_representations.log",
    localrule: True
    params:
        **job(
            "clean_representations", "beirflow.ranking.cleaning:clean_representations"
        ),
    message:
        "delete searched representations"
