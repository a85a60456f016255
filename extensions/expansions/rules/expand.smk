"""Expansions of documents that models make: written queries or weighed words.

REQUIRED INPUTS
  documents, corpus = <results>/corpora/<dataset>/…
  for a model in a folder or a Python package, its files

OUTPUTS
  model     = <results>/expansions/<expansion>/model.json                            digests of the model's files
  expansion = <results>/expansions/<expansion>/<dataset>/chunk-<i>.parquet, .json    a row a document, shared by all systems
  log       = <results>/expansions/<expansion>/<dataset>/chunk-<i>.jsonl             not declared: progress of an interrupted job

STEPS
  - find or fetch the model
  - write queries for, or weigh the words of, the documents of each chunk
"""


rule fetch_expansion_model:
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
    conda:
        "../../../envs/encode.yaml"
    params:
        **calls(
            "beirflow.models.model_files:fetch_model",
            system="beirflow.extensions.expansions.models:model_of()",
        ),
        command=command_of("fetch_expansion_model"),
        said=None,
        kind=lambda wildcards: experiment.expansions.kind(wildcards.expansion),
        settings=lambda wildcards: experiment.expansions.settings(wildcards.expansion),
        model_states=lambda wildcards: [
            *map(file_state, experiment.expansions.files(wildcards.expansion))
        ],
    message:
        "find the model of {wildcards.expansion}"
    shell:
        RUN_JOB


rule write_queries:
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
    conda:
        "../../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **calls("beirflow.extensions.expansions.writer:write_queries"),
        command=command_of("write_queries"),
        settings=lambda wildcards: experiment.expansions.settings(wildcards.expansion),
        precision=config["precision"],
    message:
        "write queries for chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.expansion}"
    shell:
        RUN_JOB


rule weigh_words:
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
    conda:
        "../../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **calls("beirflow.extensions.expansions.word_weigher:weigh_words"),
        command=command_of("weigh_words"),
        settings=lambda wildcards: experiment.expansions.settings(wildcards.expansion),
        precision=config["precision"],
    message:
        "weigh the words of chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.expansion}"
    shell:
        RUN_JOB
