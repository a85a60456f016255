"""Evaluate runs of every family."""

from beirflow.config import readers


use rule data_job as evaluate_run with:
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
    params:
        **job("evaluate_run", "beirflow.evaluation.evaluate:evaluate_run"),
        cutoffs=config["cutoffs"],
        conventions=lambda wildcards: readers.conventions(
            experiment, wildcards.system, wildcards.dataset
        ),
    message:
        "evaluate {wildcards.system} on {wildcards.dataset}"


use rule data_job as average_forums with:
    input:
        forums=lambda wildcards: expand(
            at(layout.METRICS),
            system=wildcards.system,
            dataset=experiment.rows_of_forums[wildcards.row],
        ),
    output:
        means=at(layout.ROW_METRICS),
    log:
        "<results>/logs/average_forums/{system}/{row}.log",
    localrule: True
    params:
        **job("average_forums", "beirflow.evaluation.evaluate:average_forums"),
        dataset=lambda wildcards: wildcards.row,
    message:
        "average the forums of {wildcards.row} for {wildcards.system}"
