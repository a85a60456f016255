"""Audit results, compare them with others, and export their provenance.

REQUIRED INPUTS
  none for audit and compare: they read <results>/ as it is, and build or repair nothing
  summary, report = <results>/summary.csv, report.html, for the gate
  manifest = <results>/manifest.json, for the exports; and run, record, corpus of a run
  pages = <results>/report.json, paper/index.json, for the crate, if they are there

OUTPUTS
  not declared for audit and compare, so that they survive a failure:
  <results>/audit.json, audit.html              every check: status, finding, affected numbers, repair;
                                                of results of others in audits/<name>/, with the log
  <results>/comparison.json, comparison.html    differences from another folder of results
  <results>/leaderboard/index.html, .csv          the leaderboard of many folders, each audited (leaderboard)
  <results>/gate.json, gate.xml, gate.md        the verdict on the configured systems beside a baseline (gate)
  page  = <results>/explanations/<system>/<dataset>.html    what moves a result away from the published one
  open  = <results>/open-runs/<system>/<dataset>.trec.gz    a run in TREC form with its provenance
  code  = <results>/code/                       a copy of the workflow, required in such a crate
  readme = <results>/README.md                  how to reproduce the results with that copy
  crate = <results>/ro-crate-metadata.json      inputs and tools of the results, as a Workflow Run RO-Crate

STEPS
  - follow the digests from manifest.json to every file; find what is missing or left over
  - compare the available sources and models with their records
  - recompute metrics and summary by another path
  - encode and search a sample again
  - compare with published scores
  - compare two folders of results: how they were made, their scores, their rankings
  - fail if a system is worse than a baseline (gate)
"""

import os

from beirflow.audit.again.for_reading import PAGES
from beirflow.audit.place import audit_place

# Arrow's allocator commits a gigabyte at once otherwise, which the limit of memory of an audit counts as taken.
os.environ.setdefault("MIMALLOC_ARENA_EAGER_COMMIT", "0")


audit_options = experiment.options("audit")
audit_at = audit_place(
    this_run.path(layout.RESULTS),
    audit_options.get("folder"),
    audit_options.get("output"),
)


rule audit:
    log:
        "<results>/logs/audit.log" if audit_at.log is None else audit_at.log,
    localrule: True
    conda:
        "../../envs/audit.yaml"
    params:
        command=command_of("audit"),
        entrance="beirflow.audit.audit:audit",
        experiment="beirflow.config.load:load_experiment()",
        code=code_version("audit"),
        audited=audit_at.audited,
        results=audit_at.written,
        sample=audit_options.get("sample", 0),
        published={
            name: audit_options.get(name)
            for name in ("manifest_sha256", "manifest_signature", "allowed_signers")
        },
        call=this_run.call,
        fact=audit_options.get("fact"),
    message:
        "audit the results"
    shell:
        RUN_JOB


rule compare:
    log:
        "<results>/logs/compare.log",
    localrule: True
    conda:
        "../../envs/audit.yaml"
    params:
        command=command_of("compare"),
        entrance="beirflow.audit.exchange.compare:compare",
        code=code_version("compare"),
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
        "../../envs/audit.yaml"
    params:
        command=command_of("leaderboard"),
        entrance="beirflow.audit.exchange.joint_leaderboard:collect_folders",
        experiment="beirflow.config.load:load_experiment()",
        code=code_version("leaderboard"),
        folders=experiment.options("leaderboard").get("folders", []),
        main_measure=experiment.main_measure,
        sample=audit_options.get("sample", 0),
    message:
        "verify the folders and write their leaderboard"
    shell:
        RUN_JOB


rule gate:
    input:
        summary=at(layout.SUMMARY),
        per_query=expand(at(layout.PER_QUERY), **corpora),
        report=at(layout.REPORT),
    log:
        "<results>/logs/gate.log",
    localrule: True
    conda:
        "../../envs/audit.yaml"
    params:
        command=command_of("gate"),
        entrance="beirflow.audit.exchange.gate:check_gate",
        code=code_version("gate"),
        gate={"measure": experiment.main_measure, **config["gate"]},
        systems=experiment.chosen_systems,
    message:
        "compare the systems with the baseline of the gate"
    shell:
        RUN_JOB


rule explain_result:
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
        page=at(layout.EXPLANATION),
    log:
        "<results>/logs/explain_result/{system}/{dataset}.log",
    localrule: True
    conda:
        "../../envs/audit.yaml"
    params:
        command=command_of("explain_result"),
        entrance="beirflow.audit.exchange.explanation:explain",
        code=code_version("explain_result"),
        settings=of_system(experiment.described),
    message:
        "explain {wildcards.system} on {wildcards.dataset} beside the published scores"
    shell:
        RUN_JOB


rule open_run:
    input:
        run=at(layout.RUN),
        record=at(layout.RUN_RECORD),
        corpus=at(layout.CORPUS),
        queries=at(layout.QUERIES),
        manifest=at(layout.MANIFEST),
    output:
        at(layout.OPEN_RUN),
    log:
        "<results>/logs/open_run/{system}/{dataset}.log",
    conda:
        "../../envs/audit.yaml"
    params:
        command=command_of("open_run"),
        entrance="beirflow.audit.exchange.open_run:write_open_run",
        code=code_version("open_run"),
    message:
        "write the run of {wildcards.system} on {wildcards.dataset} with its metadata"
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
        crate=at(layout.CRATE),
        code=directory(at(layout.CRATE_CODE)),
        readme=at(layout.CRATE_README),
    log:
        "<results>/logs/export_crate.log",
    localrule: True
    conda:
        "../../envs/audit.yaml"
    params:
        command=command_of("export_crate"),
        entrance="beirflow.audit.exchange.crate:export_crate",
        code=code_version("export_crate"),
    message:
        "describe the results as an RO-Crate"
    shell:
        RUN_JOB
