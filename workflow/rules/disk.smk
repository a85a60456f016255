"""Free disk space: delete representations that results no longer need.

REQUIRED INPUTS
  none: it reads <results>/ as it is

OUTPUTS
  none

STEPS
  - delete the vectors, postings and term weights of searched chunks; their records stay
"""


rule clean_representations:
    log:
        "<results>/logs/clean_representations.log",
    localrule: True
    conda:
        "../../envs/data.yaml"
    params:
        **calls("beirflow.ranking.cleaning:clean_representations"),
        command=command_of("clean_representations"),
    message:
        "delete searched representations"
    shell:
        RUN_JOB
