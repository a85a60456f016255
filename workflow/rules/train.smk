"""Training: an encoder for each dataset, on queries that were written for its documents (GenQ).

REQUIRED INPUTS
  documents, corpus = <results>/corpora/<dataset>/…
  queries, records  = <results>/expansions/<expansion>/<dataset>/…    all chunks
  model             = <results>/models/<system>.json                  the encoder that it begins as

OUTPUTS
  model      = <results>/models/<system>/<dataset>/         the files of that encoder, with other weights
  record     = <results>/models/<system>/<dataset>.json     from what, how, and how the loss went
  checkpoint = <results>/models/<system>/<dataset>.pt       not declared: what an interrupted training goes on from

STEPS
  - divide pairs of query and document into batches, none with two pairs of a document
  - train with the other documents of the batch as negatives
"""

written_for = lambda pattern: lambda wildcards: expand(
    at(pattern),
    expansion=expansions.of_system(wildcards.system),
    dataset=wildcards.dataset,
    chunk=range(experiment.chunks(wildcards.dataset)),
)


rule train_encoder:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        queries=written_for(layout.EXPANSION),
        records=written_for(layout.EXPANSION_RECORD),
        model=at(layout.MODEL),
    output:
        model=directory(at(layout.TRAINED_MODEL)),
        record=at(layout.TRAINED_MODEL_RECORD),
    log:
        "<results>/logs/train_encoder/{system}/{dataset}.log",
    benchmark:
        "<results>/benchmarks/train_encoder/{system}/{dataset}.tsv"
    wildcard_constraints:
        system=one_of(experiment.trained_systems),
    conda:
        "../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        code=code_version("train_encoder"),
        settings=lambda wildcards: experiment.training(
            wildcards.system, wildcards.dataset
        ),
        precision=config["precision"],
    message:
        "train {wildcards.system} on {wildcards.dataset}"
    script:
        "../scripts/train_encoder.py"
