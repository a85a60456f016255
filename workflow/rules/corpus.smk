"""Prepare a dataset for every system that follows.

REQUIRED INPUTS
  source = <results>/data/<archive>.zip, or the three files of a dataset that is here already
  other  = <results>/corpora/<other>/documents.parquet, where the dataset shares its texts with another that is configured too

OUTPUTS
  documents = <results>/corpora/<dataset>/documents.parquet    row group i is chunk i, longest document first
  queries   = <results>/corpora/<dataset>/queries.parquet      the judged queries of the split
  qrels     = <results>/corpora/<dataset>/qrels.parquet        their judgements
  corpus    = <results>/corpora/<dataset>/corpus.json          the record: counts, digests, length statistics
  shared    = <results>/corpora/<dataset>/shared.parquet       for every document, where the other dataset has its text

STEPS
  - read and check queries and judgements, read and check the corpus, join title and text
  - sort by length, deal to a number of chunks that is known beforehand, write a row group a chunk
  - match the texts of two datasets that share them, by 128-bit digests
"""


def source_files(wildcards):
    return experiment.source_files(wildcards.dataset)


def source_folder(wildcards):
    return experiment.folder(wildcards.dataset)


def source_states(wildcards):
    return experiment.source_states(wildcards.dataset)


def other_corpus(pattern):
    """An input function: a file of the dataset that has most of the same texts."""

    def file(wildcards):
        return at(pattern).format(dataset=experiment.shared_with(wildcards.dataset))

    return file


rule prepare_corpus:
    input:
        source_files,
    output:
        documents=at(layout.DOCUMENTS),
        queries=at(layout.QUERIES),
        qrels=at(layout.QRELS),
        corpus=at(layout.CORPUS),
    log:
        "<results>/logs/prepare_corpus/{dataset}.log",
    benchmark:
        "<results>/benchmarks/prepare_corpus/{dataset}.tsv"
    conda:
        "../../envs/data.yaml"
    threads: 4
    params:
        code=code_version("prepare_corpus"),
        folder=source_folder,
        settings=corpus_settings,
        sources=source_states,
    message:
        "prepare {wildcards.dataset}"
    script:
        "../scripts/prepare_corpus.py"


rule match_texts:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        other=other_corpus(layout.DOCUMENTS),
        other_corpus=other_corpus(layout.CORPUS),
    output:
        at(layout.SHARED),
    log:
        "<results>/logs/match_texts/{dataset}.log",
    benchmark:
        "<results>/benchmarks/match_texts/{dataset}.tsv"
    wildcard_constraints:
        dataset=one_of(filter(experiment.shared_with, experiment.datasets)),
    conda:
        "../../envs/data.yaml"
    params:
        code=code_version("match_texts"),
    message:
        "find the texts of {wildcards.dataset} that another dataset has"
    script:
        "../scripts/match_texts.py"
