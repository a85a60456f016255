"""Summarise all results.

REQUIRED INPUTS
  means     = <results>/metrics/<system>/<dataset>.json of every configured system and dataset
  published = workflow/catalogue/published.yaml

OUTPUTS
  summary  = <results>/summary.csv      a row a system and dataset, then the averages over datasets
  manifest = <results>/manifest.json    the root of all digests, with configuration, code and environment

STEPS
  - set beside published scores, average over datasets, print the table
  - write down what all of it was made from and with
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
        summary="<results>/summary.csv",
        manifest="<results>/manifest.json",
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
