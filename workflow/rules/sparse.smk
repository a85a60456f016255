"""Learned sparse retrieval: a model weighs the terms of queries and documents, and an exact search adds their products.

REQUIRED INPUTS
  documents, queries, corpus = <results>/corpora/<dataset>/…
  expansion, record          = <results>/expansions/<expansion>/<dataset>/chunk-<i>.parquet, .json, if the system has one
  for a model in a folder or a Python package, its files

OUTPUTS
  model      = <results>/models/<system>.json                               digests of the files of its models
  weights    = <results>/postings/<system>/<dataset>/queries.arrow, weights-<i>.arrow
  record     = the same with .json    inputs, model and settings
  candidates = <results>/candidates/<system>/<dataset>/chunk-<i>.arrow, .json  top k of a chunk, temporary

STEPS
  - find or fetch the model, and a separate model of the queries, if any
  - weigh the terms of the queries, and of each chunk with its expansion
  - score every document with a term of a query
"""

sparse_systems = one_of(experiment.systems_of("sparse"))


rule fetch_sparse_model:
    input:
        lambda wildcards: [
            *map(on_this_machine, experiment.model_files(wildcards.system))
        ],
    output:
        at(layout.MODEL),
    log:
        "<results>/logs/fetch_sparse_model/{system}.log",
    wildcard_constraints:
        system=sparse_systems,
    localrule: True
    conda:
        "../../envs/encode.yaml"
    params:
        **calls(
            "beirflow.models.model_files:fetch_model",
            system="beirflow.families.sparse.settings:SparseSettings()",
        ),
        command=command_of("fetch_sparse_model"),
        said=None,
        settings=of_system(
            experiment.settings,
            *("pooling", "activation", "max_length", "query_max_length", "most_terms"),
            *("query_prefix", "document_prefix", "quantize", "ties"),
            *("expansion", "text_length", "expansion_length"),
        ),
        model_states=lambda wildcards: [
            *map(file_state, experiment.model_files(wildcards.system))
        ],
    message:
        "find the model of {wildcards.system}"
    shell:
        RUN_JOB


rule weigh_queries:
    input:
        queries=at(layout.QUERIES),
        corpus=at(layout.CORPUS),
        model=model_record,
    output:
        weights=at(layout.QUERY_WEIGHTS),
        record=at(layout.QUERY_WEIGHTS_RECORD),
    log:
        "<results>/logs/weigh_queries/{system}/{dataset}.log",
    wildcard_constraints:
        system=sparse_systems,
    priority: 1
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **calls("beirflow.families.sparse.weigh:weigh_queries"),
        command=command_of("weigh_queries"),
        settings=of_system(
            experiment.settings,
            *("ties", "weights_sha256", "document_prefix"),
            *("expansion", "text_length", "expansion_length"),
        ),
        precision=config["precision"],
    message:
        "weigh the queries of {wildcards.dataset} with {wildcards.system}"
    shell:
        RUN_JOB


rule weigh_chunk:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        model=model_record,
        expansion=files_of(layout.EXPANSION, expansion=added),
        expansion_record=files_of(layout.EXPANSION_RECORD, expansion=added),
    output:
        weights=kept(layout.TERM_WEIGHTS, config["keep_representations"]),
        record=at(layout.TERM_WEIGHTS_RECORD),
    log:
        "<results>/logs/weigh_chunk/{system}/{dataset}/chunk-{chunk}.log",
    wildcard_constraints:
        system=sparse_systems,
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **calls("beirflow.families.sparse.weigh:weigh_chunk"),
        command=command_of("weigh_chunk"),
        # Its name, and not where its model is.
        expansion_state=of_system(experiment.expansions.of_system),
        settings=of_system(
            experiment.settings,
            *("ties", "weights_sha256", "query_prefix", "query_max_length"),
            "expansion",
        ),
        precision=config["precision"],
    message:
        "weigh chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.system}"
    shell:
        RUN_JOB


rule search_weights:
    input:
        queries=at(layout.QUERIES),
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        model=model_record,
        query_weights=at(layout.QUERY_WEIGHTS),
        query_record=at(layout.QUERY_WEIGHTS_RECORD),
        chunk_weights=at(layout.TERM_WEIGHTS),
        chunk_record=at(layout.TERM_WEIGHTS_RECORD),
        expansion=rules.weigh_chunk.input.expansion,
        expansion_record=rules.weigh_chunk.input.expansion_record,
    output:
        candidates=temp(at(layout.CANDIDATES)),
        record=temp(at(layout.CANDIDATES_RECORD)),
    log:
        "<results>/logs/search_weights/{system}/{dataset}/chunk-{chunk}.log",
    wildcard_constraints:
        system=sparse_systems,
    # Before the next chunk is weighed, so that few are on disk if they are not kept.
    priority: 1
    conda:
        "../../envs/encode.yaml"
    threads: 2
    params:
        **calls("beirflow.families.sparse.search:search_weights"),
        command=command_of("search_weights"),
        settings=of_system(experiment.settings),
        retrieval=of_dataset(experiment.retrieval),
    message:
        "search chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.system}"
    shell:
        RUN_JOB
