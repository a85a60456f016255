"""Download archives, datasets of a hub, and models. Runs on the submitting host; no later step needs a network."""


use rule data_job as download_dataset with:
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
    params:
        command=command_of("download_dataset"),
        function="beirflow.data.sources.download:download_dataset",
        urls="beirflow.data.catalogue.catalogue:archive_urls()",
        expected=lambda wildcards: experiment.archive(wildcards.archive),
    message:
        "download {wildcards.archive}.zip"


use rule data_job as fetch_dataset with:
    output:
        at(layout.HUB_DATASET),
    log:
        "<results>/logs/fetch_dataset/{dataset}.log",
    wildcard_constraints:
        dataset=one_of(experiment.hub_datasets),
    localrule: True
    params:
        **job("fetch_dataset", "beirflow.data.sources.fetch_dataset:fetch_dataset"),
        settings=of_dataset(experiment.on_hub),
    message:
        "fetch {wildcards.dataset} from its hub"


use rule encode_job as fetch_model with:
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
    params:
        **job("fetch_model", "beirflow.models.model_files:fetch_model"),
        system=of_system(experiment.model_settings),
        configured=of_system(experiment.configured_settings),
        model_states=lambda wildcards: [
            *map(file_state, experiment.model_files(wildcards.system))
        ],
    message:
        "resolve the model files of {wildcards.system}"
