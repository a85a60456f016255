"""Latency: the time of one query, with everything in memory, while no other job runs."""

from beirflow.config.rule_inputs import (
    all_cores,
    answering_code,
    searched_files,
    answering_systems,
)

every_core = all_cores(this_run.limits)


use rule encode_job as measure_latency with:
    input:
        documents=at(layout.DOCUMENTS),
        queries=at(layout.QUERIES),
        corpus=at(layout.CORPUS),
        searched=lambda wildcards: searched_files(
            experiment, wildcards.system, wildcards.dataset
        ),
    output:
        at(layout.LATENCY),
    log:
        "<results>/logs/measure_latency/{system}/{dataset}.log",
    # All cores, so that no other job runs.
    threads: every_core
    resources:
        gpu=gpu_places,
    params:
        **job("measure_latency", "beirflow.evaluation.latency:measure_latency"),
        answering_code=lambda wildcards: answering_code(
            experiment, wildcards.system, wildcards.dataset
        ),
        systems=lambda wildcards: answering_systems(
            experiment, wildcards.system, wildcards.dataset
        ),
        top_k=config["top_k"],
        precision=config["precision"],
    message:
        "measure the latency of {wildcards.system} on {wildcards.dataset}"
