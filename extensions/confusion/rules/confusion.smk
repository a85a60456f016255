"""The confusion matrix of every system."""

from beirflow.extensions.confusion import CONFUSION


use rule data_job as tabulate_confusion with:
    input:
        means=of_every_run(layout.METRICS),
        runs=of_every_run(layout.RUN),
        qrels=expand(at(layout.QRELS), dataset=experiment.chosen_datasets),
        corpus=expand(at(layout.CORPUS), dataset=experiment.chosen_datasets),
    output:
        confusion=at(CONFUSION),
    log:
        "<results>/logs/tabulate_confusion.log",
    params:
        **job(
            "tabulate_confusion",
            "beirflow.extensions.confusion.confusion:tabulate_confusion",
        ),
        corpora=experiment.chosen_datasets,
        rows=experiment.chosen_rows,
        cutoffs=config["cutoffs"],
    message:
        "tabulate the confusion matrix of every system"
