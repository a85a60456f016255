"""Fuse the runs of several systems.

REQUIRED INPUTS
  runs, records = <results>/runs/<system>/<dataset>.parquet, .json of the fused systems
  corpus        = <results>/corpora/<dataset>/corpus.json
  tuning        = the same of another split or dataset, its queries and judgements, if the weights are tuned on it

OUTPUTS
  run    = <results>/runs/<system>/<dataset>.parquet     the ranked documents
  record = <results>/runs/<system>/<dataset>.json        the fused runs, weights and digests

STEPS
  - tune the weights, unless configured: the best main measure of a grid, never on evaluated queries
  - add up reciprocal ranks or normalised scores, rank by the ranking rule, cut at k
"""


rule fuse_runs:
    input:
        runs=files_of(layout.RUN, system=first_stages),
        records=files_of(layout.RUN_RECORD, system=first_stages),
        corpus=at(layout.CORPUS),
        tuning=of_both(experiment.tuning_files),
    output:
        run=at(layout.RUN),
        record=at(layout.RUN_RECORD),
    log:
        "<results>/logs/fuse_runs/{system}/{dataset}.log",
    wildcard_constraints:
        system=one_of(experiment.systems_of("fusion")),
    conda:
        "../../envs/data.yaml"
    params:
        **calls(
            "beirflow.families.fusion.fuse_runs:fuse_runs",
            measure="beirflow.evaluation.measures:measure",
        ),
        command=command_of("fuse_runs"),
        settings=of_system(experiment.settings),
        tuned_on=of_both(experiment.tuned_on),
        main_measure=lambda wildcards: (
            experiment.main_measure
            if experiment.tuned_on(wildcards.system, wildcards.dataset)
            else ""
        ),
        top_k=config["top_k"],
        run_settings=of_both(experiment.run_settings),
    message:
        "fuse the runs of {wildcards.system} on {wildcards.dataset}"
    shell:
        RUN_JOB
