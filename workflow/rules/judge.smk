"""A model as judge of unjudged documents.

REQUIRED INPUTS
  pool = <results>/pool/<dataset>.jsonl
  documents, queries, qrels, corpus = <results>/corpora/<dataset>/…
  runs, means = <results>/runs/<system>/<dataset>.parquet, <results>/metrics/<system>/<dataset>.json of all systems

OUTPUTS
  sample  = <results>/judge/<dataset>-sample.jsonl    pairs that people judged, with the grades of both
  judged  = <results>/judge/<dataset>.jsonl           the pool with the judge's grades
  record  = <results>/judge/<dataset>.json            prompt, model, tokens and cost
  page    = <results>/judge/<dataset>.html            agreement with people, and the systems under both
  answers = <results>/judge/<dataset>.answers         not declared: all answers; none is asked for twice

STEPS
  - ask the model for a sample of judged pairs, then for the pool
  - compare its grades with those of people
"""


rule judge_pool:
    input:
        pool=at(layout.POOL),
        documents=at(layout.DOCUMENTS),
        queries=at(layout.QUERIES),
        qrels=at(layout.QRELS),
        corpus=at(layout.CORPUS),
    output:
        sample=at(layout.JUDGED_SAMPLE),
        judged=at(layout.JUDGED),
        record=at(layout.JUDGED_RECORD),
    log:
        "<results>/logs/judge_pool/{dataset}.log",
    wildcard_constraints:
        dataset=one_of(experiment.datasets if config["judge"] else []),
    localrule: True
    conda:
        "../../envs/data.yaml"
    params:
        command=command_of("judge_pool"),
        entrance="beirflow.report.analysis.judge:judge_pool",
        code=code_version("judge_pool"),
        judge=config["judge"],
    message:
        "let the judge grade the pool of {wildcards.dataset}"
    shell:
        RUN_JOB


rule write_judge_page:
    input:
        sample=at(layout.JUDGED_SAMPLE),
        judged=at(layout.JUDGED),
        record=at(layout.JUDGED_RECORD),
        qrels=at(layout.QRELS),
        corpus=at(layout.CORPUS),
        runs=of_every_system(layout.RUN),
        means=of_every_system(layout.METRICS),
    output:
        page=at(layout.JUDGE_PAGE),
    log:
        "<results>/logs/write_judge_page/{dataset}.log",
    conda:
        "../../envs/audit.yaml"
    params:
        command=command_of("write_judge_page"),
        entrance="beirflow.report.judge_page:write_judge_page",
        code=code_version("write_judge_page"),
        main_measure=experiment.main_measure,
    message:
        "compare the judge of {wildcards.dataset} with people"
    shell:
        RUN_JOB
