"""Lexical retrieval: postings of each chunk, statistics of the corpus, and an exact search by BM25.

REQUIRED INPUTS
  documents, queries, corpus = <results>/corpora/<dataset>/…
  expansion, record          = <results>/expansions/<expansion>/<dataset>/chunk-<i>.parquet, .json, if the system has one

OUTPUTS
  postings   = <results>/postings/<analyzer>/<dataset>/chunk-<i>.arrow, .json        shared by all systems with this analyzer
                                                                                     and this expansion, which it names too
  statistics = <results>/postings/<analyzer>/<dataset>/statistics.parquet, .json     the document frequency of each term
  candidates = <results>/candidates/<system>/<dataset>/chunk-<i>.arrow, .json          top k of a chunk, temporary

STEPS
  - analyse title and text of every document, and its expansion, chunk by chunk
  - sum up the statistics of the whole corpus
  - score every document with a term of a query, in Lucene's arithmetic
"""

from beirflow.config.asked import analyzer_code, code_by_name


rule index_chunk:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        expansion=files_of(layout.EXPANSION, expansion=added_to_index),
        expansion_record=files_of(layout.EXPANSION_RECORD, expansion=added_to_index),
    output:
        postings=kept(layout.POSTINGS, config["keep_representations"]),
        record=at(layout.POSTINGS_RECORD),
    log:
        "<results>/logs/index_chunk/{analyzer}/{dataset}/chunk-{chunk}.log",
    conda:
        "../../envs/data.yaml"
    threads: 2
    params:
        **calls("beirflow.families.lexical.index_chunk:index_chunk"),
        command=command_of("index_chunk"),
        analyzer_code=lambda wildcards: analyzer_code(
            [experiment.expansions.index(wildcards.analyzer).analyzer]
        ),
        index=lambda wildcards: experiment.expansions.index(
            wildcards.analyzer
        )._asdict(),
    message:
        "index chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.analyzer}"
    shell:
        RUN_JOB


rule sum_statistics:
    input:
        postings=files_of(layout.POSTINGS, chunk=chunks),
        records=files_of(layout.POSTINGS_RECORD, chunk=chunks),
    output:
        statistics=at(layout.STATISTICS),
        record=at(layout.STATISTICS_RECORD),
    log:
        "<results>/logs/sum_statistics/{analyzer}/{dataset}.log",
    priority: 1
    conda:
        "../../envs/data.yaml"
    params:
        **calls("beirflow.families.lexical.statistics:sum_statistics"),
        command=command_of("sum_statistics"),
        index=rules.index_chunk.params.index,
    message:
        "sum up the statistics of {wildcards.dataset} with {wildcards.analyzer}"
    shell:
        RUN_JOB


rule search_index:
    input:
        queries=at(layout.QUERIES),
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        postings=named_by(layout.POSTINGS),
        postings_record=named_by(layout.POSTINGS_RECORD),
        statistics=named_by(layout.STATISTICS),
        statistics_record=named_by(layout.STATISTICS_RECORD),
        expansion=files_of(layout.EXPANSION, expansion=added),
        expansion_record=files_of(layout.EXPANSION_RECORD, expansion=added),
    output:
        candidates=temp(at(layout.CANDIDATES)),
        record=temp(at(layout.CANDIDATES_RECORD)),
    log:
        "<results>/logs/search_index/{system}/{dataset}/chunk-{chunk}.log",
    wildcard_constraints:
        system=one_of(experiment.systems_of("lexical")),
    # Before the next corpus is indexed, so that few postings are on disk if they are not kept.
    priority: 1
    conda:
        "../../envs/data.yaml"
    threads: 2
    params:
        **calls("beirflow.families.lexical.search_index:search_index"),
        command=command_of("search_index"),
        analyzer_code=lambda wildcards: code_by_name(
            experiment, wildcards.system, wildcards.dataset
        ),
        bm25=of_both(experiment.fields_of, "bm25"),
        retrieval=of_dataset(experiment.retrieval),
    message:
        "search chunk {wildcards.chunk} of {wildcards.dataset} with {wildcards.system}"
    shell:
        RUN_JOB
