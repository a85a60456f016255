"""Summarise all results, and show them.

REQUIRED INPUTS
  means      = <results>/metrics/<system>/<dataset>.json of every configured system and dataset
  published  = workflow/catalogue/published.yaml
  per_query, comparison, costs, inspection = what the rules of analyse.smk are made of and write

OUTPUTS
  summary = <results>/summary.csv           a row a system and dataset, then the averages over datasets
  figures = <results>/figures/<name>.pdf, .svg

STEPS
  - set beside published scores, average over datasets, print the table
  - draw every figure twice: for papers, and for pages
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
        report(
            "<results>/summary.csv",
            caption="../report/summary.rst",
            category="Scores",
            labels={"what": "summary"},
        ),
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


# Those of beirflow/figures.py, which is not imported here because it takes long, and what they are called in Snakemake's report.
FIGURES = {
    "ndcg_difference": "difference to the baseline",
    "recall_over_k": "recall over k",
    "ndcg_per_query": "distribution over queries",
    "document_lengths": "lengths of documents",
    "holes": "unjudged documents",
    "cost": "cost",
}


rule draw_figures:
    input:
        means=expand(
            "<results>/metrics/{system}/{dataset}.json",
            system=experiment.chosen_systems,
            dataset=experiment.chosen_rows,
        ),
        corpus_means=expand("<results>/metrics/{system}/{dataset}.json", **corpora),
        per_query=expand("<results>/metrics/{system}/{dataset}.parquet", **corpora),
        inspections=expand(
            "<results>/inspection/{dataset}.json", dataset=experiment.chosen_datasets
        ),
        comparison="<results>/significance.csv",
        costs="<results>/cost.csv",
    output:
        pdf=expand("<results>/figures/{name}.pdf", name=FIGURES),
        svg=[
            report(
                f"<results>/figures/{name}.svg",
                caption=f"../report/{name}.rst",
                category="Figures",
                labels={"what": label},
            )
            for name, label in FIGURES.items()
        ],
    log:
        "<results>/logs/draw_figures.log",
    benchmark:
        "<results>/benchmarks/draw_figures.tsv"
    conda:
        "../../envs/report.yaml"
    params:
        code=code_version("draw_figures"),
        rows=experiment.chosen_rows,
        baseline=experiment.baseline,
    message:
        "draw the figures"
    script:
        "../scripts/draw_figures.py"
