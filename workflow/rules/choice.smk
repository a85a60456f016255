"""Put quality beside cost, so that one can choose a system.

REQUIRED INPUTS
  means, per_query = <results>/metrics/<system>/<dataset>.json, .parquet of every configured system and corpus
  latencies = <results>/latency/<system>/<dataset>.json of the same
  costs     = <results>/cost.csv
  manifest  = <results>/manifest.json
  templates = workflow/report/…

OUTPUTS
  page   = <results>/choice.html    the answer in words, plots, tables
  table  = <results>/choice.csv     a row a system: quality with its interval, significance, costs, fronts
  record = <results>/choice.json    digests of both, prices and budgets

STEPS
  - test every system against the best, and variants against their encoder
  - average latency, add up indexes, compute prices
  - find the fronts, and the cheapest system in each budget
"""


rule write_choice:
    input:
        means=expand(at(layout.METRICS), **corpora),
        per_query=expand(at(layout.PER_QUERY), **corpora),
        latencies=expand(at(layout.LATENCY), **corpora),
        costs=at(layout.COST),
        manifest=at(layout.MANIFEST),
        templates=rules.write_report.input.templates,
    output:
        page=at(layout.CHOICE),
        table=at(layout.CHOICE_TABLE),
        record=at(layout.CHOICE_RECORD),
    log:
        "<results>/logs/write_choice.log",
    conda:
        "../../envs/report.yaml"
    params:
        command=command_of("write_choice"),
        entrance="beirflow.report.choice_page:write_choice",
        code=code_version("write_choice"),
        main_measure=experiment.main_measure,
        rows=experiment.chosen_rows,
        base_encoders=experiment.base_encoders,
        prices=config["prices"],
        choice=config["choice"],
    message:
        "put quality beside cost"
    shell:
        RUN_JOB
