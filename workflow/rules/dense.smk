"""Dense retrieval: encode queries and corpus, chunk by chunk.

REQUIRED INPUTS
  documents, queries, corpus = <results>/corpora/<dataset>/…; and shared, where it shares its texts with another dataset
  model                      = <results>/models/<system>.json
  shared_vectors, _records   = <results>/embeddings/<system>/<other>/…    all chunks of that dataset

OUTPUTS
  vectors = <results>/embeddings/<system>/<dataset>/queries.npy, chunk-<i>.npy
  record  = the same with .json    what was computed, with what, from what

STEPS
  - encode the queries
  - encode each chunk, but take over the vectors of texts that the other dataset has
"""


rule encode_queries:
    input:
        queries="<results>/corpora/{dataset}/queries.parquet",
        corpus="<results>/corpora/{dataset}/corpus.json",
        model="<results>/models/{system}.json",
    output:
        vectors="<results>/embeddings/{system}/{dataset}/queries.npy",
        record="<results>/embeddings/{system}/{dataset}/queries.json",
    log:
        "<results>/logs/encode_queries/{system}/{dataset}.log",
    benchmark:
        "<results>/benchmarks/encode_queries/{system}/{dataset}.tsv"
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        code=code_version("encode_queries"),
        settings=query_encoding,
    message:
        "encode the queries of {wildcards.dataset} with {wildcards.system}"
    script:
        "../scripts/encode_queries.py"


rule encode_chunk:
    input:
        documents="<results>/corpora/{dataset}/documents.parquet",
        corpus="<results>/corpora/{dataset}/corpus.json",
        model="<results>/models/{system}.json",
        shared=chunk_files("<results>/corpora/{dataset}/shared.parquet", shared=True),
        shared_vectors=chunk_files(
            "<results>/embeddings/{system}/{other}/chunk-{chunk}.npy", shared=True
        ),
        shared_records=chunk_files(
            "<results>/embeddings/{system}/{other}/chunk-{chunk}.json", shared=True
        ),
    output:
        vectors="<results>/embeddings/{system}/{dataset}/chunk-{chunk}.npy",
        record="<results>/embeddings/{system}/{dataset}/chunk-{chunk}.json",
    log:
        "<results>/logs/encode_chunk/{system}/{dataset}/chunk-{chunk}.log",
    benchmark:
        "<results>/benchmarks/encode_chunk/{system}/{dataset}/chunk-{chunk}.tsv"
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        code=code_version("encode_chunk"),
        settings=document_encoding,
    message:
        "encode chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.system}"
    script:
        "../scripts/encode_chunk.py"
