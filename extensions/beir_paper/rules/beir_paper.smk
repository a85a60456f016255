"""Overlap, lengths, annotation bias and efficiency of the BEIR paper, from the configured systems and datasets."""

from beirflow.config import readers
from beirflow.config.rule_inputs import corpus_of
from beirflow.extensions.beir_paper import layout as paper_files
from beirflow.extensions.beir_paper import registry as of_paper
from beirflow.extensions.beir_paper.similarities import similarity_pairs

printed = [*map(on_this_machine, map(str, of_paper.PRINTED))]


use rule report_job as count_corpus with:
    input:
        documents=at(layout.DOCUMENTS),
        queries=at(layout.QUERIES),
        qrels=at(layout.QRELS),
        corpus=at(layout.CORPUS),
    output:
        words=at(paper_files.WORDS),
        statistics=at(paper_files.STATISTICS),
    log:
        "<results>/logs/count_corpus/{dataset}.log",
    params:
        **job("count_corpus", "beirflow.extensions.beir_paper.statistics:count_corpus"),
    message:
        "count the words of {wildcards.dataset}"


use rule report_job as describe_corpora with:
    input:
        statistics=expand(
            at(paper_files.STATISTICS), dataset=experiment.chosen_datasets
        ),
        printed=printed,
    output:
        table=at(paper_files.TABLE).format(table="table-1"),
    log:
        "<results>/logs/describe_corpora.log",
    localrule: True
    params:
        **job(
            "describe_corpora",
            "beirflow.extensions.beir_paper.corpus_tables:write_table_1",
        ),
        rows=experiment.chosen_rows,
    message:
        "tabulate statistics of the corpora with the printed ones"


use rule report_job as measure_overlap with:
    input:
        words=expand(at(paper_files.WORDS), dataset=experiment.chosen_datasets),
        statistics=rules.describe_corpora.input.statistics,
    output:
        overlap=at(paper_files.TABLE).format(table="overlap"),
    log:
        "<results>/logs/measure_overlap.log",
    params:
        **job(
            "measure_overlap", "beirflow.extensions.beir_paper.overlap:measure_overlap"
        ),
        rows=experiment.chosen_rows,
    message:
        "measure the word overlap of datasets"


use rule report_job as tabulate_lengths with:
    input:
        means=rules.summarize.input.means,
        inspections=rules.draw_figures.input.inspections,
        statistics=rules.describe_corpora.input.statistics,
        printed=printed,
    output:
        expand(at(paper_files.TABLE), table=of_paper.LENGTHS),
    log:
        "<results>/logs/tabulate_lengths.log",
    localrule: True
    params:
        **job(
            "tabulate_lengths",
            "beirflow.extensions.beir_paper.corpus_tables:write_length_tables",
        ),
        rows=experiment.chosen_rows,
        pairs=similarity_pairs(experiment),
    message:
        "tabulate the lengths of retrieved and judged documents"


use rule report_job as draw_beir_paper with:
    input:
        rules.measure_overlap.output,
        rules.tabulate_lengths.output,
        printed=printed,
        drawn_with=rules.draw_figures.input.drawn_with,
    output:
        pdf=expand(at(paper_files.FIGURE_PDF), figure=of_paper.FIGURES),
        svg=expand(at(paper_files.FIGURE_SVG), figure=of_paper.FIGURES),
    log:
        "<results>/logs/draw_beir_paper.log",
    localrule: in_bucket
    params:
        **job("draw_beir_paper", "beirflow.extensions.beir_paper.figures:draw_figures"),
        pairs=similarity_pairs(experiment),
        style=readers.figure_style(experiment),
    message:
        "draw the figures of the BEIR paper"


use rule data_job as measure_bias with:
    input:
        means=of_every_run(layout.METRICS),
        runs=of_every_run(layout.RUN),
        qrels=expand(at(layout.QRELS), dataset=experiment.chosen_datasets),
        corpora=expand(at(layout.CORPUS), dataset=experiment.chosen_datasets),
        extra_judgements=[*map(on_this_machine, experiment.extra_judgements.values())],
        printed=printed,
    output:
        bias=at(paper_files.TABLE).format(table="bias"),
    log:
        "<results>/logs/measure_bias.log",
    localrule: in_bucket
    params:
        **job("measure_bias", "beirflow.extensions.beir_paper.bias:measure_bias"),
        corpora=experiment.chosen_datasets,
        rows=experiment.chosen_rows,
        extra_paths=experiment.extra_judgements,
    message:
        "measure the possible effect of unjudged documents"


use rule report_job as tabulate_efficiency with:
    input:
        latencies=lambda wildcards: expand(
            at(layout.LATENCY),
            system=experiment.chosen_systems,
            dataset=corpus_of(experiment),
        ),
        printed=printed,
    output:
        table=at(paper_files.TABLE).format(table="efficiency"),
    log:
        "<results>/logs/tabulate_efficiency.log",
    localrule: True
    params:
        **job(
            "tabulate_efficiency",
            "beirflow.extensions.beir_paper.efficiency:tabulate_efficiency",
        ),
    message:
        "tabulate latency and index size with quoted values"


use rule report_job as judge_findings with:
    input:
        expand(at(paper_files.TABLE), table=of_paper.COMPARED),
        printed=printed,
    output:
        findings=at(paper_files.TABLE).format(table="findings"),
    log:
        "<results>/logs/judge_findings.log",
    localrule: True
    params:
        **job(
            "judge_findings", "beirflow.extensions.beir_paper.findings:write_findings"
        ),
    message:
        "judge the findings of the BEIR paper"


use rule report_job as write_beir_paper with:
    input:
        rules.judge_findings.input,
        rules.judge_findings.output,
        rules.tabulate_lengths.output,
        rules.draw_beir_paper.output,
        words=rules.measure_overlap.input.words,
        statistics=rules.measure_overlap.input.statistics,
        latencies=rules.tabulate_efficiency.input.latencies,
        manifest=rules.summarize.output.manifest,
        templates=rules.write_report.input.templates,
        printed=printed,
    output:
        page=at(paper_files.PAGE),
        record=at(paper_files.RECORD),
    log:
        "<results>/logs/write_beir_paper.log",
    localrule: True
    params:
        **job(
            "write_beir_paper",
            "beirflow.extensions.beir_paper.page:write_paper",
            other_paths="beirflow.extensions.beir_paper.page:counted_files()",
        ),
    message:
        "write the page of the BEIR paper"


# All of it, in a word: snakemake --cores 8 -- beir_paper
rule beir_paper:
    input:
        rules.write_beir_paper.output,
