"""Merge the candidates of all chunks into a run, for every family."""


rule merge_chunks:
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
    conda:
        "../../envs/data.yaml"
    params:
        **job("merge_chunks", "beirflow.ranking.merge:merge_chunks"),
        top_k=config["top_k"],
        run_settings=of_both(experiment.run_settings),
    message:
        "merge the chunks of {wildcards.dataset} for {wildcards.system}"
    shell:
        RUN_JOB


rule anserini_run:
    input:
        run=at(layout.RUN),
        record=at(layout.RUN_RECORD),
        queries=at(layout.QUERIES),
        corpus=at(layout.CORPUS),
    output:
        at(layout.ANSERINI_RUN),
    log:
        "<results>/logs/anserini_run/{system}/{dataset}.log",
    conda:
        "../../envs/data.yaml"
    params:
        **job("anserini_run", "beirflow.ranking.anserini_run:write_anserini_run"),
        system=lambda wildcards: wildcards.system,
    message:
        "write the run of {wildcards.system} on {wildcards.dataset} as Pyserini does"
    shell:
        RUN_JOB


rule trec_run:
    input:
        run=at(layout.RUN),
        record=at(layout.RUN_RECORD),
        queries=at(layout.QUERIES),
        corpus=at(layout.CORPUS),
    output:
        at(layout.TREC_RUN),
    log:
        "<results>/logs/trec_run/{system}/{dataset}.log",
    conda:
        "../../envs/data.yaml"
    params:
        **job("trec_run", "beirflow.ranking.run_file:write_trec"),
        tag=lambda wildcards: wildcards.system,
    message:
        "write the run of {wildcards.system} on {wildcards.dataset} in TREC form"
    shell:
        RUN_JOB
