"""Prepare a dataset for all systems.

REQUIRED INPUTS
  source = <results>/data/<archive>.zip, <results>/data/<dataset>.json of a hub, or the files of a local dataset
  other  = <results>/corpora/<other>/documents.parquet, if another configured dataset shares its texts

OUTPUTS
  documents = <results>/corpora/<dataset>/documents.parquet    row group i is chunk i, longest document first
  queries   = <results>/corpora/<dataset>/queries.parquet      the judged queries of the split
  qrels     = <results>/corpora/<dataset>/qrels.parquet        their judgements
  corpus    = <results>/corpora/<dataset>/corpus.json          the record: counts, digests, length statistics
  shared    = <results>/corpora/<dataset>/shared.parquet       for every document, its place in the other dataset

STEPS
  - read and check queries and judgements, read and check the corpus, join title and text
  - sort by length, deal to a known number of chunks, write one row group per chunk
  - match the texts of two datasets that share them, by 128-bit digests
"""


rule prepare_corpus:
    input:
        source=lambda wildcards: [
            *map(on_this_machine, experiment.source_files(wildcards.dataset))
        ],
    output:
        documents=at(layout.DOCUMENTS),
        queries=at(layout.QUERIES),
        qrels=at(layout.QRELS),
        corpus=at(layout.CORPUS),
    log:
        "<results>/logs/prepare_corpus/{dataset}.log",
    # Before further downloads, so that few archives are on disk if they are not kept.
    priority: 1
    localrule: in_bucket
    conda:
        "../../envs/data.yaml"
    threads: 4
    params:
        **calls(
            "beirflow.data.prepare:prepare_corpus",
            source_path="beirflow.data.prepare:source_of()",
        ),
        command=command_of("prepare_corpus"),
        local_folder=of_dataset(experiment.folder),
        settings=of_dataset(experiment.corpus_settings),
        source_states=of_dataset(experiment.source_states),
        # Derived from `input` so that Snakemake does not compare them: they change no file of a corpus.
        self_matches=lambda wildcards, input: experiment.self_matches(wildcards.dataset),
        topic_measure=lambda wildcards, input: experiment.topic_measure,
    message:
        "prepare {wildcards.dataset}"
    shell:
        RUN_JOB


rule match_texts:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        other=shared_files(layout.DOCUMENTS),
        other_corpus=shared_files(layout.CORPUS),
    output:
        at(layout.SHARED),
    log:
        "<results>/logs/match_texts/{dataset}.log",
    wildcard_constraints:
        dataset=one_of(filter(experiment.shared_with, experiment.datasets)),
    conda:
        "../../envs/data.yaml"
    params:
        **calls("beirflow.data.matching:match_texts"),
        command=command_of("match_texts"),
    message:
        "match the texts of {wildcards.dataset} with another dataset"
    shell:
        RUN_JOB
