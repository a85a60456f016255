"""Prepare a dataset for all systems."""

from beirflow.config.readers import topic_measure


use rule data_job as prepare_corpus with:
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
    threads: 4
    params:
        **job(
            "prepare_corpus",
            "beirflow.data.prepare:prepare_corpus",
            source_path="beirflow.data.prepare:source_of()",
        ),
        local_folder=of_dataset(experiment.folder),
        settings=of_dataset(experiment.corpus_settings),
        source_states=of_dataset(experiment.source_states),
        # Derived from `input` so that Snakemake does not compare them: they change no file of a corpus.
        self_matches=lambda wildcards, input: experiment.self_matches(wildcards.dataset),
        topic_measure=lambda wildcards, input: topic_measure(experiment),
    message:
        "prepare {wildcards.dataset}"


use rule data_job as match_texts with:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        other=from_task(lambda task: task.files_with_shared_texts(layout.DOCUMENTS)),
        other_corpus=from_task(lambda task: task.files_with_shared_texts(layout.CORPUS)),
    output:
        at(layout.SHARED),
    log:
        "<results>/logs/match_texts/{dataset}.log",
    wildcard_constraints:
        dataset=one_of(filter(experiment.shared_with, experiment.datasets)),
    params:
        **job("match_texts", "beirflow.data.matching:match_texts"),
    message:
        "match the texts of {wildcards.dataset} with another dataset"
