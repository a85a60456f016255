"""Make the BEIR paper again from whatever systems and datasets are configured: its tables, figures and findings.

REQUIRED INPUTS
  means      = <results>/metrics/<system>/<dataset>.json of every configured system and dataset
  printed    = workflow/catalogue/paper.yaml, published.yaml: what the paper prints

OUTPUTS
  tables     = <results>/paper/<table>.csv       table-2, table-2-recall, table-2-capped-recall

STEPS
  - set every system on every dataset beside what the paper prints; average, and say over what
"""

PRINTED = [
    f"{workflow.basedir}/workflow/catalogue/{name}.yaml"
    for name in ("paper", "published")
]


rule tabulate_paper:
    input:
        means=rules.summarize.input.means,
        printed=PRINTED,
    output:
        expand(
            at(layout.PAPER_TABLE),
            table=["table-2", "table-2-recall", "table-2-capped-recall"],
        ),
    log:
        "<results>/logs/tabulate_paper.log",
    benchmark:
        "<results>/benchmarks/tabulate_paper.tsv"
    localrule: True
    conda:
        "../../envs/report.yaml"
    params:
        code=code_version("tabulate_paper"),
    message:
        "set the scores beside those that the paper prints"
    script:
        "../scripts/tabulate_paper.py"
