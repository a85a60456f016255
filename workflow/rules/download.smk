"""Download archives, datasets of a hub, and models. Runs on the submitting host; no later step needs a network.

REQUIRED INPUTS
  none; for a model in a folder or a Python package, its files

OUTPUTS
  archive = <results>/data/<archive>.zip         the official archive, md5 checked
  dataset = <results>/data/<dataset>.json        digests of its files in the cache of the hub's library
  model   = <results>/models/<system>.json       digests of the model's files

STEPS
  - try the mirrors and the official host in order, resume partial files, check the md5, rename
  - find the files of a dataset on the hub, fetch the necessary ones, compare them with the pinned revision
  - find or fetch the model at its pinned revision, check the weights' digest if it is known
"""


rule download_dataset:
    output:
        # `update`: a forced run finds the earlier archive and keeps it if its md5 is right.
        archive=(
            update(at(layout.ARCHIVE))
            if config["keep_archives"]
            else temp(at(layout.ARCHIVE))
        ),
    log:
        "<results>/logs/download_dataset/{archive}.log",
    wildcard_constraints:
        archive=one_of(experiment.catalogue.datasets),
    localrule: True
    conda:
        "../../envs/data.yaml"
    params:
        command=command_of("download_dataset"),
        entrance="beirflow.data.sources.download:download_dataset",
        urls="beirflow.data.catalogue.catalogue:archive_urls()",
        expected=lambda wildcards: experiment.archive(wildcards.archive),
    message:
        "download {wildcards.archive}.zip"
    shell:
        RUN_JOB


rule fetch_dataset:
    output:
        at(layout.HUB_DATASET),
    log:
        "<results>/logs/fetch_dataset/{dataset}.log",
    wildcard_constraints:
        dataset=one_of(experiment.hub_datasets),
    localrule: True
    conda:
        "../../envs/data.yaml"
    params:
        **calls("beirflow.data.sources.fetch_dataset:fetch_dataset"),
        command=command_of("fetch_dataset"),
        settings=of_dataset(experiment.on_hub),
    message:
        "fetch {wildcards.dataset} from its hub"
    shell:
        RUN_JOB


rule fetch_model:
    input:
        lambda wildcards: [
            *map(on_this_machine, experiment.model_files(wildcards.system))
        ],
    output:
        at(layout.MODEL),
    log:
        "<results>/logs/fetch_model/{system}.log",
    wildcard_constraints:
        system=one_of(experiment.systems_with_models),
    localrule: True
    conda:
        "../../envs/encode.yaml"
    params:
        **calls("beirflow.models.model_files:fetch_model"),
        command=command_of("fetch_model"),
        system=of_system(experiment.model_settings),
        said=of_system(experiment.said),
        model_states=lambda wildcards: [
            *map(file_state, experiment.model_files(wildcards.system))
        ],
    message:
        "find the model of {wildcards.system}"
    shell:
        RUN_JOB
