"""What a run will cost, before it is started.

REQUIRED INPUTS
  none: it looks at <results>/ as it is; records there say how fast the systems were

OUTPUTS
  not declared: it prints

STEPS
  - by dataset and system and in all, download, highest use of the disk, tokens, jobs and time of what is not there yet
"""


rule estimate:
    log:
        "<results>/logs/estimate.log",
    localrule: True
    conda:
        "../../envs/report.yaml"
    params:
        code=code_version("estimate"),
        configured=configured,
    message:
        "estimate what the run will cost"
    script:
        "../scripts/estimate.py"
