"""Collect results for figures, pages and other programs."""

from beirflow.config import readers
from beirflow.config.rule_inputs import settings_with_kind, finder_code, finder_of
from beirflow.families.stage import analyzer_code


use rule report_job as collect_scores with:
    input:
        means=of_every_run(layout.METRICS),
        per_query=of_every_run(layout.PER_QUERY),
    output:
        scores=at(layout.SCORES),
    log:
        "<results>/logs/collect_scores.log",
    params:
        **job("collect_scores", "beirflow.evaluation.scores:collect_scores"),
    message:
        "collect the scores of all queries"


use rule report_job as compare_systems with:
    input:
        means=of_every_run(layout.METRICS),
        per_query=of_every_run(layout.PER_QUERY),
    output:
        comparison=at(layout.SIGNIFICANCE),
        uncertainty=at(layout.UNCERTAINTY),
    log:
        "<results>/logs/compare_systems.log",
    params:
        **job("compare_systems", "beirflow.evaluation.significance:compare_systems"),
        main_measure=experiment.main_measure,
        rows=experiment.chosen_rows,
        averages=readers.averages(experiment),
    message:
        "test differences between all pairs of systems"


use rule report_job as collect_costs with:
    input:
        means=of_every_run(layout.METRICS),
        records=of_every_run(layout.RUN_RECORD),
        published=on_this_machine(f"{WORKFLOW}/catalogue/published.yaml"),
    output:
        costs=at(layout.COST),
    log:
        "<results>/logs/collect_costs.log",
    localrule: True
    params:
        **job(
            "collect_costs",
            "beirflow.evaluation.cost:collect_costs",
            *additions_to("collect_costs", config),
        ),
        rows=experiment.chosen_rows,
        additions=additions_to("collect_costs", config),
    message:
        "collect the costs"


use rule report_job as describe_systems with:
    input:
        records=of_every_run(layout.RUN_RECORD),
    output:
        systems=at(layout.SYSTEMS),
    log:
        "<results>/logs/describe_systems.log",
    localrule: True
    params:
        **job(
            "describe_systems",
            "beirflow.evaluation.systems:describe_systems",
            *additions_to("describe_systems", config),
        ),
        systems={name: experiment.described(name) for name in experiment.chosen_systems},
    message:
        "describe the systems"


use rule report_job as inspect_dataset with:
    input:
        documents=at(layout.DOCUMENTS),
        queries=at(layout.QUERIES),
        qrels=at(layout.QRELS),
        corpus=at(layout.CORPUS),
        runs=of_every_system(layout.RUN),
        means=of_every_system(layout.METRICS),
        per_query=of_every_system(layout.PER_QUERY),
    output:
        at(layout.INSPECTION),
    log:
        "<results>/logs/inspect_dataset/{dataset}.log",
    params:
        **job("inspect_dataset", "beirflow.report.analysis.inspection:inspect_dataset"),
        main_measure=experiment.main_measure,
        analyzers=of_dataset(experiment.analyzers),
        analyzer_code=lambda wildcards: analyzer_code(
            experiment.analyzers(wildcards.dataset)
        ),
    message:
        "select queries of {wildcards.dataset} for inspection, and count words"


use rule encode_job as match_hits with:
    input:
        inspection=at(layout.INSPECTION),
        documents=at(layout.DOCUMENTS),
        queries=at(layout.QUERIES),
        corpus=at(layout.CORPUS),
        model=model_record,
    output:
        at(layout.MATCHES),
    log:
        "<results>/logs/match_hits/{system}/{dataset}.log",
    wildcard_constraints:
        system=one_of(
            [name for name in experiment.chosen_systems if finder_of(experiment, name)]
        ),
    threads: gpu_threads
    resources:
        gpu=gpu_places,
    params:
        **job(
            "match_hits",
            "beirflow.report.analysis.matches:match_hits",
            settings="beirflow.families.system:settings_of()",
        ),
        finder=lambda wildcards: finder_of(experiment, wildcards.system),
        finder_code=lambda wildcards: finder_code(experiment, wildcards.system),
        asked=lambda wildcards: settings_with_kind(
            experiment, wildcards.system, wildcards.dataset
        ),
        precision=config["precision"],
    message:
        "explain term matches of the top hits of {wildcards.system} on {wildcards.dataset}"
