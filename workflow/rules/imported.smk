"""Imported runs: checked row by row, then treated like any other.

REQUIRED INPUTS
  source                     = the file in `run` of the system, outside the results; queries if the dataset states candidates
  queries, documents, corpus = <results>/corpora/<dataset>/…

OUTPUTS
  run    = <results>/runs/<system>/<dataset>.parquet     the ranked documents
  record = <results>/runs/<system>/<dataset>.json        the digest of the source, and the counts of left-out rows

STEPS
  - read every row, leave out queries without judgements and self matches, rank by the ranking rule, cut at k
"""


rule import_run:
    input:
        source=lambda wildcards: on_this_machine(
            experiment.run_file(wildcards.system, wildcards.dataset)
            or layout.QUERIES.below(layout.RESULTS).format(dataset=wildcards.dataset)
        ),
        queries=at(layout.QUERIES),
        documents=at(layout.DOCUMENTS),
        corpus=at(layout.CORPUS),
    output:
        run=at(layout.RUN),
        record=at(layout.RUN_RECORD),
    log:
        "<results>/logs/import_run/{system}/{dataset}.log",
    wildcard_constraints:
        system=one_of(experiment.systems_of("run")),
    localrule: in_bucket
    conda:
        "../../envs/data.yaml"
    params:
        **calls("beirflow.families.imported.import_run:import_run"),
        command=command_of("import_run"),
        retrieval=of_dataset(experiment.retrieval),
        run_settings=of_both(experiment.run_settings),
        run_state=of_both(experiment.run_state),
    message:
        "read the run of {wildcards.system} on {wildcards.dataset}"
    shell:
        RUN_JOB
