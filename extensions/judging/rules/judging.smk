"""Pools of unjudged documents, and a model as judge of them.

Answers of the judge are cached next to its grades, undeclared, so that none is requested twice.
"""

from beirflow.extensions.judging import layout as judging_files


use rule report_job as pool_unjudged with:
    input:
        documents=at(layout.DOCUMENTS),
        queries=at(layout.QUERIES),
        qrels=at(layout.QRELS),
        corpus=at(layout.CORPUS),
        runs=of_every_system(layout.RUN),
        means=of_every_system(layout.METRICS),
    output:
        # A person writes into it, so Snakemake must not delete it before the pool is made again.
        pool=update(at(judging_files.POOL)),
        record=at(judging_files.POOL_RECORD),
    log:
        "<results>/logs/pool_unjudged/{dataset}.log",
    params:
        **job("pool_unjudged", "beirflow.extensions.judging.pool:pool_unjudged"),
        pool_depth=config["pool_depth"],
    message:
        "pool the unjudged documents of {wildcards.dataset}"


use rule data_job as judge_pool with:
    input:
        pool=at(judging_files.POOL),
        documents=at(layout.DOCUMENTS),
        queries=at(layout.QUERIES),
        qrels=at(layout.QRELS),
        corpus=at(layout.CORPUS),
    output:
        sample=at(judging_files.SAMPLE),
        judged=at(judging_files.JUDGED),
        record=at(judging_files.RECORD),
    log:
        "<results>/logs/judge_pool/{dataset}.log",
    wildcard_constraints:
        dataset=one_of(experiment.datasets if config["judge"] else []),
    localrule: True
    params:
        **job("judge_pool", "beirflow.extensions.judging.judge:judge_pool"),
        judge=config["judge"],
    message:
        "grade the pool of {wildcards.dataset} with the judge"


use rule audit_job as write_judge_page with:
    input:
        sample=at(judging_files.SAMPLE),
        judged=at(judging_files.JUDGED),
        record=at(judging_files.RECORD),
        qrels=at(layout.QRELS),
        corpus=at(layout.CORPUS),
        runs=of_every_system(layout.RUN),
        means=of_every_system(layout.METRICS),
    output:
        page=at(judging_files.PAGE),
    log:
        "<results>/logs/write_judge_page/{dataset}.log",
    params:
        **job("write_judge_page", "beirflow.extensions.judging.page:write_judge_page"),
        main_measure=experiment.main_measure,
    message:
        "compare the judge of {wildcards.dataset} with human grades"
