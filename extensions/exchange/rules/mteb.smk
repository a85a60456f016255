"""Write results in the forms of MTEB."""

from beirflow.extensions.exchange import layout as exchanged
from beirflow.extensions.exchange.own_tasks import chosen_tasks, tasks_of

mteb_tasks = tasks_of(experiment)
dataset_of_task = {task.name: dataset for dataset, task in mteb_tasks.items()}
of_mteb = chosen_tasks(experiment)
own_tasks = experiment.config["own_tasks"]
on_hub = [task.name for task in of_mteb if "/" in task.data]  # in one repository
corpora_of_task = lambda wildcards: expand(
    at(layout.CORPUS),
    dataset=experiment.rows_of_forums.get(
        dataset_of_task[wildcards.task], dataset_of_task[wildcards.task]
    ),
)


use rule report_job as export_mteb with:
    input:
        means=lambda wildcards: at(layout.METRICS).format(
            system=wildcards.system, dataset=dataset_of_task[wildcards.task]
        ),
        corpus=corpora_of_task,
    output:
        result=at(exchanged.MTEB_RESULT),
    log:
        "<results>/logs/export_mteb/{system}/{task}.log",
    wildcard_constraints:
        task=one_of(dataset_of_task),
    localrule: True
    params:
        **job("export_mteb", "beirflow.extensions.exchange.mteb:export_mteb"),
        languages=lambda wildcards: mteb_tasks[
            dataset_of_task[wildcards.task]
        ].languages,
    message:
        "write {wildcards.task} of {wildcards.system} in MTEB's format"


use rule report_job as export_task with:
    input:
        corpus=corpora_of_task,
    output:
        task=at(exchanged.OWN_TASK),
    log:
        "<results>/logs/export_task/{task}.log",
    wildcard_constraints:
        task=one_of([entry["task"] for entry in own_tasks.values()]),
    localrule: True
    params:
        **job("export_task", "beirflow.extensions.exchange.mteb:export_task"),
        dataset=lambda wildcards: dataset_of_task[wildcards.task],
        own=lambda wildcards: own_tasks[dataset_of_task[wildcards.task]],
        split=lambda wildcards: experiment.rows[dataset_of_task[wildcards.task]][
            0
        ].split,
    message:
        "write the metadata of {wildcards.task}"


use rule report_job as write_model_index with:
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
    params:
        **job(
            "write_model_index", "beirflow.extensions.exchange.mteb:write_model_index"
        ),
        datasets={task.name: task.data for task in mteb_tasks.values()},
        own=[task.name for task in of_mteb if task.data in own_tasks],
        left_out=[name for name in experiment.chosen_rows if name not in mteb_tasks],
    message:
        "write model-index metadata of {wildcards.system}"
