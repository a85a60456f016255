"""Prepare a dataset for every system that follows.

REQUIRED INPUTS
  source = <results>/data/<archive>.zip, or the three files of a dataset that is here already

OUTPUTS
  documents = <results>/corpora/<dataset>/documents.parquet    row group i is chunk i, longest document first
  queries   = <results>/corpora/<dataset>/queries.parquet      the judged queries of the split
  qrels     = <results>/corpora/<dataset>/qrels.parquet        their judgements
  summary   = <results>/corpora/<dataset>/corpus.json          counts, digests, length statistics

STEPS
  - read and check queries and judgements, read and check the corpus, join title and text
  - sort by length, deal to a number of chunks that is known beforehand, write a row group a chunk
"""


rule prepare_corpus:
    input:
        source_files,
    output:
        documents="<results>/corpora/{dataset}/documents.parquet",
        queries="<results>/corpora/{dataset}/queries.parquet",
        qrels="<results>/corpora/{dataset}/qrels.parquet",
        summary="<results>/corpora/{dataset}/corpus.json",
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
    message:
        "prepare {wildcards.dataset}"
    script:
        "../scripts/prepare_corpus.py"
