"""Evaluate runs of every family.

REQUIRED INPUTS
  run    = <results>/runs/<system>/<dataset>.parquet, .json
  qrels  = <results>/corpora/<dataset>/qrels.parquet
  corpus = <results>/corpora/<dataset>/corpus.json

OUTPUTS
  per_query = <results>/metrics/<system>/<dataset>.parquet     every measure of every judged query
  means     = <results>/metrics/<system>/<dataset>.json        their means, counts, times
  means     = <results>/metrics/<system>/<dataset>.json        of a dataset of forums, the plain mean of theirs

STEPS
  - rank by the ranking rule, look up the judgements, measure, average over all judged queries
"""


rule evaluate_run:
    input:
        run=at(layout.RUN),
        run_record=at(layout.RUN_RECORD),
        qrels=at(layout.QRELS),
        corpus=at(layout.CORPUS),
    output:
        per_query=at(layout.PER_QUERY),
        means=at(layout.METRICS),
    log:
        "<results>/logs/evaluate_run/{system}/{dataset}.log",
    conda:
        "../../envs/data.yaml"
    params:
        **calls("beirflow.evaluation.evaluate:evaluate_run"),
        command=command_of("evaluate_run"),
        cutoffs=config["cutoffs"],
    message:
        "evaluate {wildcards.system} on {wildcards.dataset}"
    shell:
        RUN_JOB


rule average_forums:
    input:
        forums=files_of(
            layout.METRICS,
            dataset=lambda wildcards: experiment.rows_of_forums[wildcards.row],
        ),
    output:
        means=at(layout.ROW_METRICS),
    log:
        "<results>/logs/average_forums/{system}/{row}.log",
    localrule: True
    conda:
        "../../envs/data.yaml"
    params:
        **calls("beirflow.evaluation.evaluate:average_forums"),
        command=command_of("average_forums"),
        dataset=lambda wildcards: wildcards.row,
    message:
        "average the forums of {wildcards.row} for {wildcards.system}"
    shell:
        RUN_JOB
