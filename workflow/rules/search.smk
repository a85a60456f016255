"""Search vectors exactly, chunk by chunk, and merge to a run.

REQUIRED INPUTS
  documents, queries        = <results>/corpora/<dataset>/…
  model                     = <results>/models/<system>.json
  vectors and their records = <results>/embeddings/<system>/<dataset>/…

OUTPUTS
  candidates = <results>/candidates/<system>/<dataset>/chunk-<i>.npz    top k of a chunk, temporary
  run        = <results>/runs/<system>/<dataset>.parquet, .json         the ranked documents, and where they come from

STEPS
  - find the top k of each chunk: fast pass in float32, exact scores in float64
  - merge the chunks by the ranking rule
"""


rule search_chunk:
    input:
        queries="<results>/corpora/{dataset}/queries.parquet",
        documents="<results>/corpora/{dataset}/documents.parquet",
        corpus="<results>/corpora/{dataset}/corpus.json",
        model="<results>/models/{system}.json",
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
        corpus="<results>/corpora/{dataset}/corpus.json",
        model="<results>/models/{system}.json",
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
