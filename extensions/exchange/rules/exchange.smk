"""Write results in the forms of other tools, and compare them with other results.

REQUIRED INPUTS
  manifest = <results>/manifest.json, for runs with their provenance and for the crate; and run, record, corpus of a run
  pages = <results>/report.json, and the records of pages of extensions, for the crate, if they are there
  none for compare and leaderboard: they read folders of results as they are

OUTPUTS
  open  = <results>/open-runs/<system>/<dataset>.trec.gz    a run in TREC form with its provenance
  <results>/predictions/<system>/<dataset>.top-<k>.json     its first k documents in MTEB's form
  code  = <results>/code/                       a copy of the workflow, required in such a crate
  readme = <results>/README.md                  how to reproduce the results with that copy
  crate = <results>/ro-crate-metadata.json      inputs and tools of the results, as a Workflow Run RO-Crate
  not declared for compare and leaderboard, so that they survive a failure:
  <results>/comparison.json, comparison.html    differences from another folder of results
  <results>/leaderboard/index.html, .csv        the leaderboard of many folders, each audited (leaderboard)

STEPS
  - describe a run, and all results, by their records
  - compare two folders of results: how they were made, their scores, their rankings
  - audit folders of results, and rank their systems together
"""

from beirflow.core.kinds import PAGES
from beirflow.extensions.exchange import layout as exchanged


rule open_run:
    input:
        run=at(layout.RUN),
        record=at(layout.RUN_RECORD),
        corpus=at(layout.CORPUS),
        queries=at(layout.QUERIES),
        manifest=at(layout.MANIFEST),
    output:
        at(exchanged.OPEN_RUN),
    log:
        "<results>/logs/open_run/{system}/{dataset}.log",
    conda:
        "../../../envs/audit.yaml"
    params:
        **calls("beirflow.extensions.exchange.open_run:write_open_run"),
        command=command_of("open_run"),
    message:
        "write the run of {wildcards.system} on {wildcards.dataset} with its metadata"
    shell:
        RUN_JOB


rule write_predictions:
    input:
        run=at(layout.RUN),
        record=at(layout.RUN_RECORD),
        queries=at(layout.QUERIES),
        corpus=at(layout.CORPUS),
    output:
        at(exchanged.PREDICTIONS),
    log:
        "<results>/logs/write_predictions/{system}/{dataset}/{depth}.log",
    wildcard_constraints:
        depth=r"[1-9]\d*",
    conda:
        "../../../envs/data.yaml"
    params:
        **calls("beirflow.extensions.exchange.predictions:write_predictions"),
        command=command_of("write_predictions"),
    message:
        "write {wildcards.depth} documents a query of {wildcards.system} on {wildcards.dataset} as MTEB does"
    shell:
        RUN_JOB


rule export_crate:
    input:
        manifest=at(layout.MANIFEST),
        page=there_already(
            layout.REPORT_RECORD,
            *[record for record, page in PAGES.items() if page.title],
        ),
    output:
        crate=at(exchanged.CRATE),
        code=directory(at(exchanged.CRATE_CODE)),
        readme=at(exchanged.CRATE_README),
    log:
        "<results>/logs/export_crate.log",
    localrule: True
    conda:
        "../../../envs/audit.yaml"
    params:
        **calls("beirflow.extensions.exchange.crate:export_crate"),
        command=command_of("export_crate"),
    message:
        "describe the results as an RO-Crate"
    shell:
        RUN_JOB


rule compare:
    log:
        "<results>/logs/compare.log",
    localrule: True
    conda:
        "../../../envs/audit.yaml"
    params:
        **calls("beirflow.extensions.exchange.compare:compare"),
        command=command_of("compare"),
        other=experiment.options("compare").get("other"),
    message:
        "compare the results with others"
    shell:
        RUN_JOB


rule leaderboard:
    log:
        "<results>/logs/leaderboard.log",
    localrule: True
    conda:
        "../../../envs/audit.yaml"
    params:
        **calls(
            "beirflow.extensions.exchange.joint_leaderboard:collect_folders",
            experiment="beirflow.config.load:load_experiment()",
        ),
        command=command_of("leaderboard"),
        folders=experiment.options("leaderboard").get("folders", []),
        main_measure=experiment.main_measure,
        sample=experiment.options("audit").get("sample", 0),
        # Once all rules are known.
        codes=lambda wildcards: this_run.codes,
    message:
        "verify the folders and write their leaderboard"
    shell:
        RUN_JOB
