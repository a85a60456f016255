"""Audit results: check everything that a number depends on.

REQUIRED INPUTS
  none that is declared: what is looked at is <results>/ as it lies there, and nothing is made or repaired before

OUTPUTS
  none that is declared, so that they survive a failure:
  <results>/audit.json, audit.html    every check with status, what was found, what it affects, and how to repair it

STEPS
  - follow the digests from manifest.json to every file; find what is missing or left over
  - compare sources and models that are here with what was recorded of them
  - compute metrics and summary again by another path
  - encode and search a sample again, where audit_sample asks for one
  - compare with published scores
"""


rule audit:
    log:
        "<results>/logs/audit.log",
    localrule: True
    conda:
        "../../envs/audit.yaml"
    params:
        code=code_version("audit"),
        sample=config["audit_sample"],
    message:
        "audit the results"
    script:
        "../scripts/audit.py"
