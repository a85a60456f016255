"""Evaluate runs, whatever made them.

REQUIRED INPUTS
  run    = <results>/runs/<system>/<dataset>.parquet, .json
  qrels  = <results>/corpora/<dataset>/qrels.parquet
  corpus = <results>/corpora/<dataset>/corpus.json

OUTPUTS
  per_query = <results>/metrics/<system>/<dataset>.parquet     every measure of every judged query
  means     = <results>/metrics/<system>/<dataset>.json        their means, counts, times
  means     = <results>/metrics/<system>/<dataset>.json        of a dataset of forums, the plain mean of theirs
  trec      = <results>/runs/<system>/<dataset>.trec.gz        the run in TREC form, on request

STEPS
  - rank by the ranking rule, look up the judgements, measure, average over all judged queries
"""


rule evaluate_run:
    input:
        run="<results>/runs/{system}/{dataset}.parquet",
        run_record="<results>/runs/{system}/{dataset}.json",
        qrels="<results>/corpora/{dataset}/qrels.parquet",
        corpus="<results>/corpora/{dataset}/corpus.json",
    output:
        per_query="<results>/metrics/{system}/{dataset}.parquet",
        means="<results>/metrics/{system}/{dataset}.json",
    log:
        "<results>/logs/evaluate_run/{system}/{dataset}.log",
    benchmark:
        "<results>/benchmarks/evaluate_run/{system}/{dataset}.tsv"
    conda:
        "../../envs/data.yaml"
    params:
        code=code_version("evaluate_run"),
        cutoffs=config["cutoffs"],
    message:
        "evaluate {wildcards.system} on {wildcards.dataset}"
    script:
        "../scripts/evaluate_run.py"


rule average_forums:
    input:
        forum_means,
    output:
        means="<results>/metrics/{system}/{row}.json",
    log:
        "<results>/logs/average_forums/{system}/{row}.log",
    benchmark:
        "<results>/benchmarks/average_forums/{system}/{row}.tsv"
    localrule: True
    conda:
        "../../envs/data.yaml"
    params:
        code=code_version("average_forums"),
    message:
        "average the forums of {wildcards.row} for {wildcards.system}"
    script:
        "../scripts/average_forums.py"


rule trec_run:
    input:
        run="<results>/runs/{system}/{dataset}.parquet",
        record="<results>/runs/{system}/{dataset}.json",
    output:
        "<results>/runs/{system}/{dataset}.trec.gz",
    log:
        "<results>/logs/trec_run/{system}/{dataset}.log",
    benchmark:
        "<results>/benchmarks/trec_run/{system}/{dataset}.tsv"
    conda:
        "../../envs/data.yaml"
    params:
        code=code_version("trec_run"),
    message:
        "write the run of {wildcards.system} on {wildcards.dataset} in TREC form"
    script:
        "../scripts/trec_run.py"
