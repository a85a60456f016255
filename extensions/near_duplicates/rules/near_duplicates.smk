"""Near-duplicates of a test set in another corpus."""

from beirflow.extensions.near_duplicates import layout as near_files


use rule data_job as find_near_duplicates with:
    input:
        documents=at(layout.DOCUMENTS),
        queries=at(layout.QUERIES),
        qrels=at(layout.QRELS),
        corpus=at(layout.CORPUS),
        other_documents=at(layout.DOCUMENTS).replace("{dataset}", "{other}"),
        other_queries=at(layout.QUERIES).replace("{dataset}", "{other}"),
        other_corpus=at(layout.CORPUS).replace("{dataset}", "{other}"),
        means=of_every_system(layout.METRICS),
        per_query=of_every_system(layout.PER_QUERY),
    output:
        scores=at(near_files.SCORES),
        pairs=at(near_files.PAIRS),
    log:
        "<results>/logs/find_near_duplicates/{dataset}/{other}.log",
    wildcard_constraints:
        other=one_of(experiment.datasets),
    params:
        **job(
            "find_near_duplicates",
            "beirflow.extensions.near_duplicates.near_duplicates:find_near_duplicates",
        ),
        main_measure=experiment.main_measure,
    message:
        "find near-duplicates of {wildcards.dataset} in {wildcards.other}"
