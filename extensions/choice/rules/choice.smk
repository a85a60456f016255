"""Compare quality and cost, so that one can choose a system."""

from pathlib import Path

from beirflow.extensions.choice import layout as choice_files
from beirflow.extensions.choice.encoders import base_encoders


use rule report_job as write_choice with:
    input:
        means=of_every_run(layout.METRICS),
        per_query=of_every_run(layout.PER_QUERY),
        latencies=of_every_run(layout.LATENCY),
        costs=at(layout.COST),
        manifest=at(layout.MANIFEST),
        templates=[
            *rules.write_report.input.templates,
            *map(
                on_this_machine,
                sorted(map(str, Path(choice_files.__file__).parent.glob("report/*"))),
            ),
        ],
    output:
        page=at(choice_files.PAGE),
        table=at(choice_files.TABLE),
        record=at(choice_files.RECORD),
    log:
        "<results>/logs/write_choice.log",
    params:
        **job("write_choice", "beirflow.extensions.choice.page:write_choice"),
        main_measure=experiment.main_measure,
        rows=experiment.chosen_rows,
        base_encoders=base_encoders(experiment),
        prices=config["prices"],
        choice=config["choice"],
    message:
        "write the quality/cost page"


# In a word: snakemake --cores 8 -- choice
rule choice:
    input:
        rules.write_choice.output,
