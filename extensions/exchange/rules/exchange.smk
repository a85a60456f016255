"""Write results in the forms of other tools, and compare them with other results."""

from beirflow.core.kinds import PAGES
from beirflow.extensions.exchange import layout as exchanged


use rule audit_job as open_run with:
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
    params:
        **job("open_run", "beirflow.extensions.exchange.open_run:write_open_run"),
    message:
        "write the run of {wildcards.system} on {wildcards.dataset} with its metadata"


use rule data_job as write_predictions with:
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
    params:
        **job(
            "write_predictions",
            "beirflow.extensions.exchange.predictions:write_predictions",
        ),
    message:
        "write {wildcards.depth} documents per query of {wildcards.system} on {wildcards.dataset} in MTEB's format"


use rule audit_job as export_crate with:
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
    params:
        **job("export_crate", "beirflow.extensions.exchange.crate:export_crate"),
    message:
        "describe the results as an RO-Crate"


use rule audit_job as compare with:
    log:
        "<results>/logs/compare.log",
    localrule: True
    params:
        **job("compare", "beirflow.extensions.exchange.compare:compare"),
        other=experiment.options("compare").get("other"),
    message:
        "compare two results folders"


use rule audit_job as gate with:
    input:
        summary=at(layout.SUMMARY),
        per_query=of_every_run(layout.PER_QUERY),
        report=at(layout.REPORT),
    log:
        "<results>/logs/gate.log",
    localrule: True
    params:
        **job("gate", "beirflow.extensions.exchange.gate:check_gate"),
        gate={"measure": experiment.main_measure, **config["gate"]},
        systems=experiment.chosen_systems,
    message:
        "compare the systems with the baseline of the gate"


use rule audit_job as leaderboard with:
    log:
        "<results>/logs/leaderboard.log",
    localrule: True
    params:
        **job(
            "leaderboard",
            "beirflow.extensions.exchange.joint_leaderboard:collect_folders",
            experiment="beirflow.config.load:load_experiment()",
        ),
        folders=experiment.options("leaderboard").get("folders", []),
        main_measure=experiment.main_measure,
        sample=experiment.options("audit").get("sample", 0),
        # Once all rules are known.
        codes=lambda wildcards: this_run.codes,
    message:
        "verify the folders and write their leaderboard"
