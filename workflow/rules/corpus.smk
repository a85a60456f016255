"""Prepare a dataset for every system that follows.

REQUIRED INPUTS
  source = <results>/data/<archive>.zip, or the three files of a dataset that is here already
  other  = <results>/corpora/<other>/documents.parquet, where the dataset shares its texts with another that is configured too

OUTPUTS
  documents = <results>/corpora/<dataset>/documents.parquet    row group i is chunk i, longest document first
  queries   = <results>/corpora/<dataset>/queries.parquet      the judged queries of the split
  qrels     = <results>/corpora/<dataset>/qrels.parquet        their judgements
  summary   = <results>/corpora/<dataset>/corpus.json          counts, digests, length statistics
  shared    = <results>/corpora/<dataset>/shared.parquet       for every document, where the other dataset has its text

STEPS
  - read and check queries and judgements, read and check the corpus, join title and text
  - sort by length, deal to a number of chunks that is known beforehand, write a row group a chunk
  - match the texts of two datasets that share them, by 128-bit digests
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
        sources=lambda wildcards: experiment.source_states(wildcards.dataset),
    message:
        "prepare {wildcards.dataset}"
    script:
        "../scripts/prepare_corpus.py"


rule match_texts:
    input:
        documents="<results>/corpora/{dataset}/documents.parquet",
        corpus="<results>/corpora/{dataset}/corpus.json",
        other=chunk_files("<results>/corpora/{other}/documents.parquet", shared=True),
        other_corpus=chunk_files("<results>/corpora/{other}/corpus.json", shared=True),
    output:
        "<results>/corpora/{dataset}/shared.parquet",
    log:
        "<results>/logs/match_texts/{dataset}.log",
    benchmark:
        "<results>/benchmarks/match_texts/{dataset}.tsv"
    wildcard_constraints:
        # Nothing matches "(?!)"; an empty expression would allow every name.
        dataset="|".join(
            map(re.escape, filter(experiment.shared_with, experiment.datasets))
        )
        or "(?!)",
    conda:
        "../../envs/data.yaml"
    params:
        code=code_version("match_texts"),
    message:
        "find the texts of {wildcards.dataset} that another dataset has"
    script:
        "../scripts/match_texts.py"
