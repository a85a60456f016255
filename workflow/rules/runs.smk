"""Merge the candidates of all chunks into a run, for every family."""


use rule data_job as merge_chunks with:
    input:
        queries=at(layout.QUERIES),
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        candidates=files_of(layout.CANDIDATES),
        candidates_records=files_of(layout.CANDIDATES_RECORD),
    output:
        run=at(layout.RUN),
        record=at(layout.RUN_RECORD),
    log:
        "<results>/logs/merge_chunks/{system}/{dataset}.log",
    wildcard_constraints:
        system=one_of(experiment.merged_systems),
    params:
        **job("merge_chunks", "beirflow.ranking.merge:merge_chunks"),
        top_k=config["top_k"],
        run_settings=of_both(experiment.run_settings),
    message:
        "merge the chunks of {wildcards.dataset} for {wildcards.system}"


use rule data_job as anserini_run with:
    input:
        run=at(layout.RUN),
        record=at(layout.RUN_RECORD),
        queries=at(layout.QUERIES),
        corpus=at(layout.CORPUS),
    output:
        at(layout.ANSERINI_RUN),
    log:
        "<results>/logs/anserini_run/{system}/{dataset}.log",
    params:
        **job("anserini_run", "beirflow.ranking.anserini_run:write_anserini_run"),
        system=lambda wildcards: wildcards.system,
    message:
        "write the run of {wildcards.system} on {wildcards.dataset} as Pyserini does"


use rule data_job as trec_run with:
    input:
        run=at(layout.RUN),
        record=at(layout.RUN_RECORD),
        queries=at(layout.QUERIES),
        corpus=at(layout.CORPUS),
    output:
        at(layout.TREC_RUN),
    log:
        "<results>/logs/trec_run/{system}/{dataset}.log",
    params:
        **job("trec_run", "beirflow.ranking.run_file:write_trec"),
        tag=lambda wildcards: wildcards.system,
    message:
        "write the run of {wildcards.system} on {wildcards.dataset} in TREC form"
