# beirflow: retrieval systems on the BEIR benchmark, exactly, resumably, checkably. This file is the table of contents.
# The folder of this file, which another workflow may use as a module.
HERE = workflow.current_basedir.get_path_or_uri(secret_free=True)


configfile: f"{HERE}/config.yaml"


# Where all results are written.
pathvars:
    results=str(config.get("results", "results")),


include: "workflow/rules/common.smk"
include: "workflow/rules/start.smk"
include: "workflow/rules/download.smk"
include: "workflow/rules/corpus.smk"
include: "workflow/rules/dense.smk"
include: "workflow/rules/expand.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/lexical.smk"
include: "workflow/rules/sparse.smk"
include: "workflow/rules/late_interaction.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/imported.smk"
include: "workflow/rules/fusion.smk"
include: "workflow/rules/rerank.smk"
include: "workflow/rules/approximate.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/latency.smk"
include: "workflow/rules/analyse.smk"
include: "workflow/rules/judge.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/choice.smk"
include: "workflow/rules/mteb.smk"
include: "workflow/rules/paper.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/disk.smk"
include: "workflow/rules/estimate.smk"
include: "workflow/rules/try.smk"


# Without a target: what can be asked for.
rule help:
    default_target: True
    log:
        "<results>/logs/help.log",
    localrule: True
    conda:
        "envs/report.yaml"
    params:
        entrance="beirflow.report.overview:overview",
        experiment="beirflow.config.load:load_experiment()",
        configured=configured,
    message:
        "say what can be asked for"
    script:
        "workflow/scripts/run.py"


# The files that are asked for most, each in a word: snakemake --cores 8 -- report
# Snakemake makes a missing file again only if a target names it: of several outputs of a job, and of the inputs of a finished one.
rule summary:
    input:
        rules.summarize.output,
        expand(at(layout.PER_QUERY), **corpora),


rule report:
    input:
        rules.write_report.output,
        rules.write_report.input,
        rules.summary.input,


rule choice:
    input:
        rules.write_choice.output,


rule paper:
    input:
        rules.write_paper.output,


# Of the result that `of` names, or of each with a published score.
rule explain:
    input:
        experiment.explanations,


rule runs:
    input:
        expand(at(layout.TREC_RUN), **corpora),


rule tables:
    input:
        rules.export_tables.output,


rule figures:
    input:
        rules.draw_figures.output,
