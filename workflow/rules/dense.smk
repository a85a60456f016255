"""Dense retrieval: encode queries and corpus, search exactly, chunk by chunk, and merge to a run.

REQUIRED INPUTS
  documents, queries, summary        = <results>/corpora/<dataset>/…; and shared, where it shares its texts with another dataset
  model; shared_vectors and _records = <results>/models/<system>.json; <results>/embeddings/<system>/<other>/…, of all its chunks

OUTPUTS
  vectors         = <results>/embeddings/<system>/<dataset>/queries.npy, chunk-<i>.npy; what was recorded beside each, .json
  candidates, run = <results>/candidates/<system>/<dataset>/chunk-<i>.npz, temporary; <results>/runs/<system>/<dataset>.parquet, .json

STEPS
  - encode the queries and each chunk, but take over the vectors of texts that the other dataset has
  - find the top k of each chunk, fast in float32 and exactly in float64, and merge them by the ranking rule
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


rule search_chunk:
    input:
        queries="<results>/corpora/{dataset}/queries.parquet",
        documents="<results>/corpora/{dataset}/documents.parquet",
        query_vectors="<results>/embeddings/{system}/{dataset}/queries.npy",
        query_record="<results>/embeddings/{system}/{dataset}/queries.json",
        chunk_vectors="<results>/embeddings/{system}/{dataset}/chunk-{chunk}.npy",
        chunk_record="<results>/embeddings/{system}/{dataset}/chunk-{chunk}.json",
    output:
        temp("<results>/candidates/{system}/{dataset}/chunk-{chunk}.npz"),
    log:
        "<results>/logs/search_chunk/{system}/{dataset}/chunk-{chunk}.log",
    benchmark:
        "<results>/benchmarks/search_chunk/{system}/{dataset}/chunk-{chunk}.tsv"
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        code=code_version("search_chunk"),
        settings=search_settings,
    message:
        "search chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.system}"
    script:
        "../scripts/search_chunk.py"


rule merge_chunks:
    input:
        queries="<results>/corpora/{dataset}/queries.parquet",
        documents="<results>/corpora/{dataset}/documents.parquet",
        query_record="<results>/embeddings/{system}/{dataset}/queries.json",
        chunk_records=chunk_files(
            "<results>/embeddings/{system}/{dataset}/chunk-{chunk}.json"
        ),
        candidates=chunk_files(
            "<results>/candidates/{system}/{dataset}/chunk-{chunk}.npz"
        ),
    output:
        run="<results>/runs/{system}/{dataset}.parquet",
        record="<results>/runs/{system}/{dataset}.json",
    log:
        "<results>/logs/merge_chunks/{system}/{dataset}.log",
    benchmark:
        "<results>/benchmarks/merge_chunks/{system}/{dataset}.tsv"
    conda:
        "../../envs/data.yaml"
    params:
        code=code_version("merge_chunks"),
        top_k=config["top_k"],
    message:
        "merge the chunks of {wildcards.dataset} for {wildcards.system}"
    script:
        "../scripts/merge_chunks.py"
