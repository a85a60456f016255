"""Make room: delete what results do not need any more.

REQUIRED INPUTS
  none: it looks at <results>/ as it is

OUTPUTS
  not declared: it makes nothing

STEPS
  - delete the vectors, postings and term weights of chunks that runs have been made from; their records stay
"""


rule clean_representations:
    log:
        "<results>/logs/clean_representations.log",
    localrule: True
    conda:
        "../../envs/data.yaml"
    params:
        code=code_version("clean_representations"),
    message:
        "delete the representations that have been searched"
    script:
        "../scripts/clean_representations.py"
