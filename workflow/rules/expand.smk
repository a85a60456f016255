"""Expansions of documents from files: queries or term weights."""

from beirflow.config.rule_inputs import given_file

expansions = experiment.expansions


use rule data_job as read_given with:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        source=lambda wildcards: on_this_machine(
            given_file(experiment, wildcards.expansion, wildcards.dataset)
        ),
    output:
        expansion=at(layout.EXPANSION),
        record=at(layout.EXPANSION_RECORD),
    log:
        "<results>/logs/read_given/{expansion}/{dataset}/chunk-{chunk}.log",
    wildcard_constraints:
        expansion=one_of(expansions.of_kind("given")),
    localrule: in_bucket
    params:
        **job(
            "read_given",
            "beirflow.families.expansions.given:read_given",
            given="beirflow.families.expansions.settings:expansion_of()",
        ),
        kind=lambda wildcards: expansions.known[wildcards.expansion].kind,
        settings=lambda wildcards: expansions.settings(wildcards.expansion),
        source_state=lambda wildcards: file_state(
            given_file(experiment, wildcards.expansion, wildcards.dataset)
        ),
    message:
        "read given expansion {wildcards.expansion} for chunk {wildcards.chunk} of {wildcards.dataset}"
