"""Late interaction: one vector per token, and the exact sum of each query token's best match, over all documents.

REQUIRED INPUTS
  documents, queries, corpus = <results>/corpora/<dataset>/…
  model                      = <results>/models/<system>.json

OUTPUTS
  vectors    = <results>/tokens/<system>/<dataset>/queries.arrow, chunk-<i>.arrow    float16
  record     = the same with .json    inputs, model and settings
  candidates = <results>/candidates/<system>/<dataset>/chunk-<i>.arrow, .json          top k of a chunk, temporary

STEPS
  - encode the tokens of the queries, and of each chunk
  - find the top k of each chunk: fast pass in float32 over all documents, exact scores of the candidates
"""

late_systems = one_of(experiment.systems_of("late-interaction"))


rule encode_query_tokens:
    input:
        queries=at(layout.QUERIES),
        corpus=at(layout.CORPUS),
        model=model_record,
    output:
        vectors=at(layout.QUERY_TOKEN_VECTORS),
        record=at(layout.QUERY_TOKEN_VECTORS_RECORD),
    log:
        "<results>/logs/encode_query_tokens/{system}/{dataset}.log",
    wildcard_constraints:
        system=late_systems,
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **calls("beirflow.families.late_interaction.encode:encode_query_tokens"),
        command=command_of("encode_query_tokens"),
        settings=of_both(
            experiment.settings_on,
            *("weights_sha256", "document_length", "pool_factor"),
        ),
        precision=config["precision"],
    message:
        "encode the tokens of the queries of {wildcards.dataset} with {wildcards.system}"
    shell:
        RUN_JOB


rule encode_tokens:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        model=model_record,
    output:
        vectors=kept(layout.TOKEN_VECTORS, config["keep_representations"]),
        record=at(layout.TOKEN_VECTORS_RECORD),
    log:
        "<results>/logs/encode_tokens/{system}/{dataset}/chunk-{chunk}.log",
    wildcard_constraints:
        system=late_systems,
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **calls("beirflow.families.late_interaction.encode:encode_tokens"),
        command=command_of("encode_tokens"),
        settings=of_both(experiment.settings_on, "weights_sha256", "query_length"),
        precision=config["precision"],
    message:
        "encode the tokens of chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.system}"
    shell:
        RUN_JOB


rule search_tokens:
    input:
        queries=at(layout.QUERIES),
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        model=model_record,
        query_vectors=at(layout.QUERY_TOKEN_VECTORS),
        query_record=at(layout.QUERY_TOKEN_VECTORS_RECORD),
        chunk_vectors=at(layout.TOKEN_VECTORS),
        chunk_record=at(layout.TOKEN_VECTORS_RECORD),
    output:
        candidates=temp(at(layout.CANDIDATES)),
        record=temp(at(layout.CANDIDATES_RECORD)),
    log:
        "<results>/logs/search_tokens/{system}/{dataset}/chunk-{chunk}.log",
    wildcard_constraints:
        system=late_systems,
    # Before the next chunk is encoded, so that few are on disk if they are not kept.
    priority: 1
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **calls("beirflow.families.late_interaction.search:search_tokens"),
        command=command_of("search_tokens"),
        retrieval=of_dataset(experiment.retrieval),
    message:
        "search chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.system}"
    shell:
        RUN_JOB
