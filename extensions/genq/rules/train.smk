"""Training: an encoder for each dataset, on queries generated for its documents (GenQ).

REQUIRED INPUTS
  documents, corpus = <results>/corpora/<dataset>/…
  queries, records  = <results>/expansions/<expansion>/<dataset>/…    all chunks
  model             = <results>/models/<system>.json                  the base encoder

OUTPUTS
  model      = <results>/models/<system>/<dataset>/         the files of the base, with new weights
  record     = <results>/models/<system>/<dataset>.json     base, settings, and loss
  checkpoint = <results>/models/<system>/<dataset>.pt       not declared: an interrupted training resumes from it

STEPS
  - divide pairs of query and document into batches without repeated texts
  - train with the other documents of the batch as negatives
"""

from beirflow.extensions.genq.parameters import part_of_training, trained_systems


rule train_encoder:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        queries=files_of(layout.EXPANSION, expansion=added, chunk=chunks),
        records=files_of(layout.EXPANSION_RECORD, expansion=added, chunk=chunks),
        model=at(layout.MODEL),
    output:
        trained_model=directory(at(layout.MODEL_OF_DATASET)),
        record=at(layout.MODEL_OF_DATASET_RECORD),
    log:
        "<results>/logs/train_encoder/{system}/{dataset}.log",
    wildcard_constraints:
        system=one_of(trained_systems(experiment)),
    conda:
        "../../../envs/encode.yaml"
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **calls("beirflow.extensions.genq.train_encoder:train_encoder"),
        command=command_of("train_encoder"),
        settings=of_both(part_of_training(experiment, "encoder")),
        similarity=of_both(part_of_training(experiment, "similarity")),
        training=of_both(part_of_training(experiment, "train")),
        precision=config["precision"],
    message:
        "train {wildcards.system} on {wildcards.dataset}"
    shell:
        RUN_JOB
