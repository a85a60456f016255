"""Re-ranking: score the first documents of another system's run, in blocks of queries, and rank them again.

REQUIRED INPUTS
  first, first_record        = <results>/runs/<first stage>/<dataset>.parquet, .json
  queries, documents, corpus = <results>/corpora/<dataset>/…
  model                      = <results>/models/<system>.json

OUTPUTS
  pairs  = <results>/pairs/<system>/<dataset>/block-<i>.parquet, .json    the score of every pair of a query and a document
  run    = <results>/runs/<system>/<dataset>.parquet                      the ranked documents
  record = <results>/runs/<system>/<dataset>.json                         its inputs and settings

STEPS
  - score the pairs of each block of queries, reusing stored scores: a greater depth only adds pairs
  - rank by the scores; documents below the depth are dropped, or follow in their order
"""

from beirflow.config.asked import code_by_name


rule score_pairs:
    input:
        first_run=files_of(layout.RUN, system=first_stages),
        first_record=files_of(layout.RUN_RECORD, system=first_stages),
        queries=at(layout.QUERIES),
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        model=model_record,
    output:
        # `update`: the job finds the stored scores and reuses them.
        pairs=update(at(layout.PAIRS)),
        record=update(at(layout.PAIRS_RECORD)),
    log:
        "<results>/logs/score_pairs/{system}/{dataset}/block-{block}.log",
    wildcard_constraints:
        system=one_of(experiment.systems_of("rerank")),
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **calls("beirflow.families.rerank.score_pairs:score_pairs"),
        command=command_of("score_pairs"),
        scorer_code=lambda wildcards: code_by_name(
            experiment, wildcards.system, wildcards.dataset
        ),
        settings=of_both(experiment.settings_on, "below", "weights_sha256"),
        precision=config["precision"],
        blocks=of_dataset(experiment.query_blocks),
    message:
        "score block {wildcards.block} of {wildcards.dataset} with {wildcards.system}"
    shell:
        RUN_JOB


rule rerank_run:
    input:
        first_run=rules.score_pairs.input.first_run,
        first_record=rules.score_pairs.input.first_record,
        pairs=files_of(layout.PAIRS, block=query_blocks),
        records=files_of(layout.PAIRS_RECORD, block=query_blocks),
        corpus=at(layout.CORPUS),
    output:
        run=at(layout.RUN),
        record=at(layout.RUN_RECORD),
    log:
        "<results>/logs/rerank_run/{system}/{dataset}.log",
    wildcard_constraints:
        system=one_of(experiment.systems_of("rerank")),
    conda:
        "../../envs/data.yaml"
    params:
        **calls("beirflow.families.rerank.rerank_run:rerank_run"),
        command=command_of("rerank_run"),
        settings=of_both(experiment.settings_on, "weights_sha256"),
        top_k=config["top_k"],
        run_settings=of_both(experiment.run_settings),
    message:
        "rerank the documents of {wildcards.dataset} with {wildcards.system}"
    shell:
        RUN_JOB
