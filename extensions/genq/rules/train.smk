"""Training: an encoder for each dataset, on queries generated for its documents (GenQ).

An interrupted training resumes from its checkpoint, which is not declared.
"""

from beirflow.extensions.genq.parameters import part_of_training, trained_systems


use rule encode_job as train_encoder with:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        queries=files_of(layout.EXPANSION),
        records=files_of(layout.EXPANSION_RECORD),
        model=at(layout.MODEL),
    output:
        trained_model=directory(at(layout.MODEL_OF_DATASET)),
        record=at(layout.MODEL_OF_DATASET_RECORD),
    log:
        "<results>/logs/train_encoder/{system}/{dataset}.log",
    wildcard_constraints:
        system=one_of(trained_systems(experiment)),
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **job("train_encoder", "beirflow.extensions.genq.train_encoder:train_encoder"),
        settings=of_both(part_of_training(experiment, "encoder")),
        similarity=of_both(part_of_training(experiment, "similarity")),
        training=of_both(part_of_training(experiment, "train")),
        precision=config["precision"],
    message:
        "train {wildcards.system} on {wildcards.dataset}"
