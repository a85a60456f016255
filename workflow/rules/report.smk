"""Summarise and present all results."""

from pathlib import Path

from beirflow.config.main_measure import TABULATED
from beirflow.config import readers
from beirflow.config.rule_inputs import finder_of
from beirflow.report.registry import functions

# Parameters of a rule whose job calls the registered functions of a kind with the results that its inputs are.
shown = lambda name, function, kind: job(
    name,
    f"beirflow.report.{function}",
    *functions(kind).values(),
    shared="beirflow.report.results:of_job()",
)
means_of_corpora = of_every_run(layout.METRICS)
means_of_rows = of_every_run(layout.METRICS, experiment.chosen_rows)


use rule data_job as summarize with:
    input:
        means=means_of_rows,
        published=on_this_machine(f"{WORKFLOW}/catalogue/published.yaml"),
    output:
        summary=report(
            at(layout.SUMMARY),
            caption="../report/summary.rst",
            category="Scores",
            labels={"what": "summary"},
        ),
        manifest=at(layout.MANIFEST),
    log:
        "<results>/logs/summarize.log",
    localrule: True
    params:
        **job("summarize", "beirflow.evaluation.conclusion:conclude"),
        main_measure=experiment.main_measure,
        trained_on=readers.in_domain(experiment),
        # Derived from `input` so that Snakemake does not compare it: another device or mirror makes no result again.
        configured=lambda wildcards, input: {
            "experiment": experiment.configured,
            "runs": experiment.configured_runs(experiment.needed_runs),
            "options": configured,
        },
    message:
        "summarize all results"


use rule report_job as tabulate_figures with:
    input:
        means=rules.summarize.input.means,
        costs=at(layout.COST),
    output:
        expand(at(layout.FIGURE_DATA), figure=functions("frame")),
    log:
        "<results>/logs/tabulate_figures.log",
    localrule: True
    params:
        **shown("tabulate_figures", "figure_tables:write_figure_tables", "frame"),
        main_measure=experiment.main_measure,
        rows=experiment.chosen_rows,
        blocks=readers.blocks(experiment),
    message:
        "tabulate the numbers of the figures"


use rule report_job as draw_figures with:
    input:
        means=rules.summarize.input.means,
        corpus_means=means_of_corpora,
        per_query=of_every_run(layout.PER_QUERY),
        inspections=expand(at(layout.INSPECTION), dataset=experiment.chosen_datasets),
        comparison=at(layout.SIGNIFICANCE),
        costs=at(layout.COST),
        drawn_with=on_this_machine(f"{WORKFLOW}/report/figures.mplstyle"),
    output:
        pdf=expand(at(layout.FIGURE_PDF), figure=functions("figure")),
        svg=[
            report(
                at(layout.FIGURE_SVG).format(figure=name),
                caption=f"../report/{name}.rst",
                category="Figures",
                labels={"what": name.replace("_", " ")},
            )
            for name in functions("figure")
        ],
    log:
        "<results>/logs/draw_figures.log",
    params:
        **shown("draw_figures", "figures:draw_figures", "figure"),
        main_measure=experiment.main_measure,
        blocks=readers.blocks(experiment),
        style=readers.figure_style(experiment),
        rows=experiment.chosen_rows,
        baseline=readers.baseline(experiment),
    message:
        "draw the figures"


use rule report_job as collect_references with:
    input:
        references=[*map(on_this_machine, experiment.references)],
    output:
        table=at(layout.REFERENCES),
    log:
        "<results>/logs/collect_references.log",
    localrule: True
    params:
        **job("collect_references", "beirflow.report.references:collect_references"),
        tasks=experiment.reference_tasks,
        measures=[*dict.fromkeys((experiment.main_measure, *TABULATED))],
    message:
        "collect published results of others"


use rule report_job as export_tables with:
    input:
        references=rules.collect_references.output.table if config["references"] else [],
        summary=rules.summarize.output.summary,
        comparison=at(layout.SIGNIFICANCE),
        uncertainty=at(layout.UNCERTAINTY),
        costs=at(layout.COST),
        means=rules.draw_figures.input.means,
        corpus_means=rules.draw_figures.input.corpus_means,
        per_query=rules.draw_figures.input.per_query,
        systems=rules.describe_systems.output.systems,
        published=rules.summarize.input.published,
        further=shown_files(experiment),
        citations=on_this_machine(f"{WORKFLOW}/catalogue/citations.bib"),
    output:
        tex=expand(at(layout.TABLE_TEX), table=functions("table")),
        markdown=expand(at(layout.TABLE_MD), table=functions("table")),
        citations=at(layout.CITATIONS),
    log:
        "<results>/logs/export_tables.log",
    localrule: True
    params:
        **shown("export_tables", "exports:export_tables", "table"),
        baseline=readers.baseline(experiment),
    message:
        "export the tables"


use rule report_job as write_report with:
    input:
        references=rules.export_tables.input.references,
        summary=rules.summarize.output.summary,
        manifest=rules.summarize.output.manifest,
        means=lambda wildcards: means_of_rows(wildcards) + means_of_corpora(wildcards),
        per_query=rules.draw_figures.input.per_query,
        inspections=rules.draw_figures.input.inspections,
        matches=lambda wildcards: [
            at(layout.MATCHES).format(system=system, dataset=name)
            for system in experiment.chosen_systems
            if finder_of(experiment, system)
            for name in experiment.chosen_datasets
        ],
        comparison=rules.draw_figures.input.comparison,
        uncertainty=at(layout.UNCERTAINTY),
        costs=rules.draw_figures.input.costs,
        systems=rules.describe_systems.output.systems,
        figures=rules.draw_figures.output.svg,
        citations=rules.export_tables.input.citations,
        further=rules.export_tables.input.further,
        others=[
            rules.collect_scores.output.scores,
            *rules.draw_figures.output.pdf,
            *rules.tabulate_figures.output,
            *rules.export_tables.output,
        ],
        published=rules.summarize.input.published,
        templates=[
            on_this_machine(str(path))
            for folder in with_extensions(WORKFLOW / "report")
            for path in sorted(folder.rglob("*.*"))
        ],
    output:
        report=report(at(layout.REPORT), caption="../report/report.rst"),
        record=at(layout.REPORT_RECORD),
    log:
        "<results>/logs/write_report.log",
    localrule: True
    params:
        **shown("write_report", "report:write_report", "table"),
        baseline=readers.baseline(experiment),
    message:
        "write the report"
