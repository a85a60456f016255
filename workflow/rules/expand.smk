"""Expansions of documents from files: queries or term weights.

REQUIRED INPUTS
  documents, corpus = <results>/corpora/<dataset>/…
  source = the file, outside the results

OUTPUTS
  expansion = <results>/expansions/<expansion>/<dataset>/chunk-<i>.parquet, .json    a row a document, shared by all systems

STEPS
  - read the file and check every line
"""

expansions = experiment.expansions


rule read_given:
    input:
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
        source=lambda wildcards: on_this_machine(
            experiment.given_file(wildcards.expansion, wildcards.dataset)
        ),
    output:
        expansion=at(layout.EXPANSION),
        record=at(layout.EXPANSION_RECORD),
    log:
        "<results>/logs/read_given/{expansion}/{dataset}/chunk-{chunk}.log",
    wildcard_constraints:
        expansion=one_of(expansions.of_kind("given")),
    localrule: in_bucket
    conda:
        "../../envs/data.yaml"
    params:
        **calls(
            "beirflow.families.expansions.given:read_given",
            given="beirflow.families.expansions.settings:expansion_of()",
        ),
        command=command_of("read_given"),
        kind=lambda wildcards: expansions.kind(wildcards.expansion),
        settings=lambda wildcards: expansions.settings(wildcards.expansion),
        source_state=lambda wildcards: file_state(
            experiment.given_file(wildcards.expansion, wildcards.dataset)
        ),
    message:
        "read {wildcards.expansion} for chunk {wildcards.chunk} of {wildcards.dataset}"
    shell:
        RUN_JOB
