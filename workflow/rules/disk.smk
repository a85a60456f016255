"""Free disk space: delete representations that results no longer need."""


rule clean_representations:
    log:
        "<results>/logs/clean_representations.log",
    localrule: True
    conda:
        "../../envs/data.yaml"
    params:
        **job(
            "clean_representations", "beirflow.ranking.cleaning:clean_representations"
        ),
    message:
        "delete searched representations"
    shell:
        RUN_JOB
