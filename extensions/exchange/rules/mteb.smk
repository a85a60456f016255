"""Write results in the forms of MTEB."""

from beirflow.extensions.exchange import layout as exchanged

dataset_of_task = {
    task.name: dataset for dataset, task in experiment.catalogue.mteb.items()
}
of_mteb = [experiment.catalogue.mteb[name] for name in experiment.mteb_datasets]
on_hub = [task.name for task in of_mteb if "/" in task.dataset]  # in one repository


rule export_mteb:
    input:
        means=lambda wildcards: at(layout.METRICS).format(
            system=wildcards.system, dataset=dataset_of_task[wildcards.task]
        ),
        corpus=lambda wildcards: expand(
            at(layout.CORPUS),
            dataset=experiment.rows_of_forums.get(
                dataset_of_task[wildcards.task], dataset_of_task[wildcards.task]
            ),
        ),
    output:
        result=at(exchanged.MTEB_RESULT),
    log:
        "<results>/logs/export_mteb/{system}/{task}.log",
    wildcard_constraints:
        task=one_of(dataset_of_task),
    localrule: True
    conda:
        "../../../envs/report.yaml"
    params:
        **job("export_mteb", "beirflow.extensions.exchange.mteb:export_mteb"),
        language=lambda wildcards: experiment.catalogue.mteb[
            dataset_of_task[wildcards.task]
        ].language,
    message:
        "write {wildcards.task} of {wildcards.system} in MTEB's format"
    shell:
        RUN_JOB


rule write_model_index:
    input:
        results=expand(
            at(exchanged.MTEB_RESULT),
            task=[task.name for task in of_mteb],
            allow_missing=True,
        ),
    output:
        index=at(exchanged.MODEL_INDEX),
        eval_results=expand(at(exchanged.EVAL_RESULT), task=on_hub, allow_missing=True),
    log:
        "<results>/logs/write_model_index/{system}.log",
    localrule: True
    conda:
        "../../../envs/report.yaml"
    params:
        **job(
            "write_model_index", "beirflow.extensions.exchange.mteb:write_model_index"
        ),
        datasets={
            task.name: task.dataset for task in experiment.catalogue.mteb.values()
        },
        left_out=[
            name
            for name in experiment.chosen_rows
            if name not in experiment.catalogue.mteb
        ],
    message:
        "write model-index metadata of {wildcards.system}"
    shell:
        RUN_JOB
