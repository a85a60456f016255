"""Approximate indexes over the vectors of a dense system, searched and compared with its exact run.

REQUIRED INPUTS
  documents, queries, corpus = <results>/corpora/<dataset>/…
  model                      = <results>/models/<dense system>.json
  vectors, query_vectors     = <results>/embeddings/<dense system>/<dataset>/…, each with its record
  exact                      = <results>/runs/<dense system>/<dataset>.parquet, .json

OUTPUTS
  index  = <results>/indexes/<dense system>/<dataset>/<index>.faiss    shared by all systems that search it
  record = the same with .json                                         its settings, size and time
  run    = <results>/runs/<system>/<dataset>.parquet                   the ranked documents
  record = <results>/runs/<system>/<dataset>.json                      its inputs, and the exact hits that it has

STEPS
  - build the index from all vectors
  - search all queries, score what is found exactly, rank by the ranking rule, count the exact hits
"""

approximate_systems = experiment.systems_of("approximate")
built = {
    index.name: index
    for index in (
        experiment.systems[name].settings.built for name in approximate_systems
    )
}


rule build_index:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        model=at(layout.MODEL),
        vectors=files_of(layout.CHUNK_VECTORS, chunk=chunks),
        records=files_of(layout.CHUNK_VECTORS_RECORD, chunk=chunks),
    output:
        index=kept(layout.INDEX, config["keep_representations"]),
        record=at(layout.INDEX_RECORD),
    log:
        "<results>/logs/build_index/{system}/{dataset}/{index}.log",
    wildcard_constraints:
        index=one_of(built),
    conda:
        "../../envs/encode.yaml"
    threads: lambda wildcards: built[wildcards.index].build_threads
    params:
        **calls("beirflow.families.approximate.build_index:build_index"),
        command=command_of("build_index"),
        settings=lambda wildcards: vars(built[wildcards.index]),
        similarity=lambda wildcards: experiment.settings(wildcards.system)["similarity"],
    message:
        "build the index {wildcards.index} of {wildcards.dataset} with the vectors of {wildcards.system}"
    shell:
        RUN_JOB


rule search_approximate:
    input:
        queries=at(layout.QUERIES),
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        model=files_of(layout.MODEL, system=first_stages),
        query_vectors=files_of(layout.QUERY_VECTORS, system=first_stages),
        query_record=files_of(layout.QUERY_VECTORS_RECORD, system=first_stages),
        chunk_vectors=files_of(layout.CHUNK_VECTORS, system=first_stages, chunk=chunks),
        chunk_records=files_of(
            layout.CHUNK_VECTORS_RECORD, system=first_stages, chunk=chunks
        ),
        index=named_by(layout.INDEX),
        index_record=named_by(layout.INDEX_RECORD),
        exact_run=files_of(layout.RUN, system=first_stages),
        exact_record=files_of(layout.RUN_RECORD, system=first_stages),
    output:
        run=at(layout.RUN),
        record=at(layout.RUN_RECORD),
    log:
        "<results>/logs/search_approximate/{system}/{dataset}.log",
    wildcard_constraints:
        system=one_of(approximate_systems),
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    params:
        **calls("beirflow.families.approximate.search_approximate:search_approximate"),
        command=command_of("search_approximate"),
        settings=of_system(experiment.settings),
        similarity=lambda wildcards: experiment.settings(
            *experiment.first_stages(wildcards.system)
        )["similarity"],
        retrieval=of_dataset(experiment.retrieval),
        run_settings=of_both(experiment.run_settings),
    message:
        "search {wildcards.dataset} with {wildcards.system}"
    shell:
        RUN_JOB
