"""Summarise all results.

REQUIRED INPUTS
  means     = <results>/metrics/<system>/<dataset>.json of every configured system and dataset
  published = workflow/catalogue/published.yaml

OUTPUTS
  summary = <results>/summary.csv     a row a system and dataset, then the averages over datasets

STEPS
  - set beside published scores, average over datasets, print the table
"""


rule summarize:
    input:
        means=expand(
            "<results>/metrics/{system}/{dataset}.json",
            system=experiment.chosen_systems,
            dataset=experiment.chosen_rows,
        ),
        published=f"{workflow.basedir}/workflow/catalogue/published.yaml",
    output:
        "<results>/summary.csv",
    log:
        "<results>/logs/summarize.log",
    benchmark:
        "<results>/benchmarks/summarize.tsv"
    localrule: True
    conda:
        "../../envs/data.yaml"
    params:
        code=code_version("summarize"),
    message:
        "summarize all results"
    script:
        "../scripts/summarize.py"
