"""Fuse the runs of several systems.

REQUIRED INPUTS
  runs, records = <results>/runs/<system>/<dataset>.parquet, .json of the systems that are fused
  corpus        = <results>/corpora/<dataset>/corpus.json

OUTPUTS
  run    = <results>/runs/<system>/<dataset>.parquet     the ranked documents
  record = <results>/runs/<system>/<dataset>.json        which runs they were made from

STEPS
  - add up reciprocal ranks, or scores that were normalised, rank by the ranking rule, cut at k
"""


rule fuse_runs:
    input:
        runs=lambda wildcards: expand(
            at(layout.RUN),
            system=experiment.first_stages(wildcards.system),
            allow_missing=True,
        ),
        records=lambda wildcards: expand(
            at(layout.RUN_RECORD),
            system=experiment.first_stages(wildcards.system),
            allow_missing=True,
        ),
        corpus=at(layout.CORPUS),
    output:
        run=at(layout.RUN),
        record=at(layout.RUN_RECORD),
    log:
        "<results>/logs/fuse_runs/{system}/{dataset}.log",
    benchmark:
        "<results>/benchmarks/fuse_runs/{system}/{dataset}.tsv"
    wildcard_constraints:
        system=one_of(experiment.systems_of("fusion")),
    conda:
        "../../envs/data.yaml"
    params:
        code=code_version("fuse_runs"),
        settings=lambda wildcards: experiment.settings(wildcards.system),
        top_k=config["top_k"],
    message:
        "fuse the runs of {wildcards.system} on {wildcards.dataset}"
    script:
        "../scripts/fuse_runs.py"
