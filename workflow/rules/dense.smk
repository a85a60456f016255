"""Dense retrieval: encode queries and corpus, chunk by chunk, and search the vectors exactly.

REQUIRED INPUTS
  documents, queries, corpus = <results>/corpora/<dataset>/…; and shared, if another dataset shares its texts
  model                      = <results>/models/<system>.json; or <system>/<dataset>.json, if made for each dataset
  shared_vectors, _records   = <results>/embeddings/<system>/<other>/…    all chunks of that dataset

OUTPUTS
  vectors    = <results>/embeddings/<system>/<dataset>/queries.npy, chunk-<i>.npy
  record     = the same with .json    inputs, model and settings
  ranges     = <results>/embeddings/<system>/<dataset>/ranges-<dimensions>.npy, .json    for variants that store int8
  candidates = <results>/candidates/<system>/<dataset>/chunk-<i>.arrow, .json    top k of a chunk, temporary

STEPS
  - encode the queries
  - encode each chunk, but reuse vectors of shared texts
  - find the ranges of the corpus, for variants that store int8
  - find the top k of each chunk: fast pass in float32, exact scores in float64; a variant compresses another system's vectors
"""

dense_systems = experiment.systems_of("dense")
encoders = one_of(name for name in dense_systems if experiment.encoder_of(name) == name)


rule encode_queries:
    input:
        queries=at(layout.QUERIES),
        corpus=at(layout.CORPUS),
        model=model_record,
    output:
        vectors=at(layout.QUERY_VECTORS),
        record=at(layout.QUERY_VECTORS_RECORD),
    log:
        "<results>/logs/encode_queries/{system}/{dataset}.log",
    wildcard_constraints:
        system=encoders,
    priority: 1
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **calls("beirflow.families.dense.encode:encode_queries"),
        command=command_of("encode_queries"),
        settings=of_both(experiment.encoding, "document_prefix", "title_separator"),
        precision=config["precision"],
    message:
        "encode the queries of {wildcards.dataset} with {wildcards.system}"
    shell:
        RUN_JOB


rule encode_chunk:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        model=model_record,
        shared_texts=shared_files(layout.SHARED, of_other=False),
        shared_vectors=shared_files(layout.CHUNK_VECTORS),
        shared_records=shared_files(layout.CHUNK_VECTORS_RECORD),
    output:
        vectors=kept(layout.CHUNK_VECTORS, config["keep_representations"]),
        record=at(layout.CHUNK_VECTORS_RECORD),
    log:
        "<results>/logs/encode_chunk/{system}/{dataset}/chunk-{chunk}.log",
    wildcard_constraints:
        system=encoders,
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **calls(
            "beirflow.families.dense.encode:encode_chunk",
            shared_paths="beirflow.families.dense.reuse:shared_files()",
        ),
        command=command_of("encode_chunk"),
        settings=of_both(experiment.encoding, "query_prefix"),
        precision=config["precision"],
    message:
        "encode chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.system}"
    shell:
        RUN_JOB


rule find_ranges:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        model=model_record,
        chunk_vectors=files_of(layout.CHUNK_VECTORS, chunk=chunks),
        records=files_of(layout.CHUNK_VECTORS_RECORD, chunk=chunks),
    output:
        ranges=at(layout.RANGES),
        record=at(layout.RANGES_RECORD),
    log:
        "<results>/logs/find_ranges/{system}/{dataset}/{dimensions}.log",
    wildcard_constraints:
        system=encoders,
    conda:
        "../../envs/data.yaml"
    params:
        **calls(
            "beirflow.families.dense.ranges:find_ranges",
            dimensions="beirflow.families.dense.ranges:dimensions_of()",
        ),
        command=command_of("find_ranges"),
        similarity=lambda wildcards: experiment.settings(wildcards.system)["similarity"],
    message:
        "find the ranges of the vectors of {wildcards.dataset} with {wildcards.system}"
    shell:
        RUN_JOB


rule search_chunk:
    input:
        queries=at(layout.QUERIES),
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        model=model_record,
        query_vectors=named_by(layout.QUERY_VECTORS),
        query_record=named_by(layout.QUERY_VECTORS_RECORD),
        chunk_vectors=named_by(layout.CHUNK_VECTORS),
        chunk_record=named_by(layout.CHUNK_VECTORS_RECORD),
        ranges=branch(
            has_ranges,
            then=named_by(layout.RANGES),
            otherwise=[],
        ),
        ranges_record=branch(
            has_ranges,
            then=named_by(layout.RANGES_RECORD),
            otherwise=[],
        ),
    output:
        candidates=temp(at(layout.CANDIDATES)),
        record=temp(at(layout.CANDIDATES_RECORD)),
    log:
        "<results>/logs/search_chunk/{system}/{dataset}/chunk-{chunk}.log",
    wildcard_constraints:
        system=one_of(dense_systems),
    # Before the next chunk is encoded, so that few are on disk if they are not kept.
    priority: 1
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **calls("beirflow.families.dense.search:search_chunk"),
        command=command_of("search_chunk"),
        similarity=lambda wildcards: experiment.settings(wildcards.system)["similarity"],
        variant=of_system(experiment.variant),
        retrieval=of_dataset(experiment.retrieval),
    message:
        "search chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.system}"
    shell:
        RUN_JOB
