"""Explain how results differ from published ones."""

from beirflow.extensions.explain import EXPLANATION
from beirflow.extensions.explain.published import explanations


use rule audit_job as explain_result with:
    input:
        run=at(layout.RUN),
        run_record=at(layout.RUN_RECORD),
        qrels=at(layout.QRELS),
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        means=at(layout.METRICS),
        published=on_this_machine(f"{WORKFLOW}/catalogue/published.yaml"),
        extra=lambda wildcards: [
            on_this_machine(path)
            for name, path in experiment.extra_judgements.items()
            if name == wildcards.dataset
        ],
    output:
        page=at(EXPLANATION),
    log:
        "<results>/logs/explain_result/{system}/{dataset}.log",
    localrule: True
    params:
        **job(
            "explain_result",
            "beirflow.extensions.explain.explanation:explain",
            *additions_to("explain_result", config),
        ),
        settings=of_system(experiment.described),
    message:
        "explain {wildcards.system} on {wildcards.dataset} against the published scores"


# Of the result that `result` names, or of each with a published score.
rule explain:
    input:
        explanations(experiment),
