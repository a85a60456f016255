"""Expansions of documents: generated queries or term weights, from a model or from a file.

REQUIRED INPUTS
  documents, corpus = <results>/corpora/<dataset>/…
  for a model in a folder or a Python package, its files; for a given expansion, its file

OUTPUTS
  model     = <results>/expansions/<expansion>/model.json                            digests of the model's files
  expansion = <results>/expansions/<expansion>/<dataset>/chunk-<i>.parquet, .json    a row a document, shared by all systems
  log       = <results>/expansions/<expansion>/<dataset>/chunk-<i>.jsonl             not declared: progress of an interrupted job

STEPS
  - find or fetch the model
  - write queries for, or weigh the words of, the documents of each chunk; or read them from a file and check every line
"""

expansions = experiment.expansions


rule fetch_expansion_model:
    input:
        lambda wildcards: [*map(on_this_machine, expansions.files(wildcards.expansion))],
    output:
        at(layout.EXPANSION_MODEL),
    log:
        "<results>/logs/fetch_expansion_model/{expansion}.log",
    wildcard_constraints:
        expansion=one_of(expansions.of_kind("queries") + expansions.of_kind("weights")),
    localrule: True
    conda:
        "../../envs/encode.yaml"
    params:
        command=command_of("fetch_expansion_model"),
        entrance="beirflow.models.model_files:fetch_model",
        system="beirflow.families.expansions.settings:model_of()",
        said=None,
        code=code_version("fetch_expansion_model"),
        kind=lambda wildcards: expansions.kind(wildcards.expansion),
        settings=lambda wildcards: expansions.settings(wildcards.expansion),
        model_states=lambda wildcards: [
            *map(file_state, expansions.files(wildcards.expansion))
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
        expansion=one_of(expansions.of_kind("queries")),
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        command=command_of("write_queries"),
        entrance="beirflow.families.expansions.writer:write_queries",
        code=code_version("write_queries"),
        settings=lambda wildcards: expansions.settings(wildcards.expansion),
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
        expansion=one_of(expansions.of_kind("weights")),
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        command=command_of("weigh_words"),
        entrance="beirflow.families.expansions.word_weigher:weigh_words",
        code=code_version("weigh_words"),
        settings=lambda wildcards: expansions.settings(wildcards.expansion),
        precision=config["precision"],
    message:
        "weigh the words of chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.expansion}"
    shell:
        RUN_JOB


rule read_given:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        source=lambda wildcards: on_this_machine(
            experiment.given_file(wildcards.expansion, wildcards.dataset)
        ),
    output:
        expansion=at(layout.EXPANSION),
        record=at(layout.EXPANSION_RECORD),
    log:
        "<results>/logs/read_given/{expansion}/{dataset}/chunk-{chunk}.log",
    wildcard_constraints:
        expansion=one_of(expansions.of_kind("given")),
    localrule: in_bucket
    conda:
        "../../envs/data.yaml"
    params:
        command=command_of("read_given"),
        entrance="beirflow.families.expansions.given:read_given",
        given="beirflow.families.expansions.settings:expansion_of()",
        code=code_version("read_given"),
        kind=lambda wildcards: expansions.kind(wildcards.expansion),
        settings=lambda wildcards: expansions.settings(wildcards.expansion),
        source_state=lambda wildcards: file_state(
            experiment.given_file(wildcards.expansion, wildcards.dataset)
        ),
    message:
        "read {wildcards.expansion} for chunk {wildcards.chunk} of {wildcards.dataset}"
    shell:
        RUN_JOB
