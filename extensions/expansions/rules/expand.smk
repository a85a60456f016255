"""Expansions of documents that models make: written queries or weighed words.

An interrupted job resumes from its log, which is not declared.
"""


use rule encode_job as fetch_expansion_model with:
    input:
        lambda wildcards: [
            *map(on_this_machine, experiment.expansions.files(wildcards.expansion))
        ],
    output:
        at(layout.EXPANSION_MODEL),
    log:
        "<results>/logs/fetch_expansion_model/{expansion}.log",
    wildcard_constraints:
        expansion=one_of(
            experiment.expansions.of_kind("queries")
            + experiment.expansions.of_kind("weights")
        ),
    localrule: True
    params:
        **job(
            "fetch_expansion_model",
            "beirflow.models.model_files:fetch_model",
            system="beirflow.extensions.expansions.models:model_of()",
        ),
        configured=None,
        kind=lambda wildcards: experiment.expansions.known[wildcards.expansion].kind,
        settings=lambda wildcards: experiment.expansions.settings(wildcards.expansion),
        model_states=lambda wildcards: [
            *map(file_state, experiment.expansions.files(wildcards.expansion))
        ],
    message:
        "resolve the model files of {wildcards.expansion}"


use rule encode_job as write_queries with:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        model=at(layout.EXPANSION_MODEL),
    output:
        expansion=at(layout.EXPANSION),
        record=at(layout.EXPANSION_RECORD),
    log:
        "<results>/logs/write_queries/{expansion}/{dataset}/chunk-{chunk}.log",
    wildcard_constraints:
        expansion=one_of(experiment.expansions.of_kind("queries")),
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **job("write_queries", "beirflow.extensions.expansions.writer:write_queries"),
        settings=lambda wildcards: experiment.expansions.settings(wildcards.expansion),
        precision=config["precision"],
    message:
        "write queries for chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.expansion}"


use rule encode_job as weigh_words with:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        model=at(layout.EXPANSION_MODEL),
    output:
        expansion=at(layout.EXPANSION),
        record=at(layout.EXPANSION_RECORD),
    log:
        "<results>/logs/weigh_words/{expansion}/{dataset}/chunk-{chunk}.log",
    wildcard_constraints:
        expansion=one_of(experiment.expansions.of_kind("weights")),
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **job("weigh_words", "beirflow.extensions.expansions.word_weigher:weigh_words"),
        settings=lambda wildcards: experiment.expansions.settings(wildcards.expansion),
        precision=config["precision"],
    message:
        "weigh the words of chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.expansion}"
