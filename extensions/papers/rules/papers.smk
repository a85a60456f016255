"""Compare printed values of papers with those of the configured systems and datasets."""

from beirflow.extensions.papers import layout as of_papers
from beirflow.extensions.papers.files import paper_files

papers = paper_files(config["papers"])


use rule report_job as compare_paper with:
    input:
        paper=lambda wildcards: on_this_machine(str(papers[wildcards.paper])),
        means=rules.write_report.input.means,
        runs=of_every_run(layout.RUN),
        qrels=expand(at(layout.QRELS), dataset=experiment.chosen_datasets),
        manifest=rules.summarize.output.manifest,
        templates=rules.write_report.input.templates,
    output:
        page=at(of_papers.PAGE),
        cells=at(of_papers.CELLS),
        findings=at(of_papers.FINDINGS),
        record=at(of_papers.RECORD),
    log:
        "<results>/logs/compare_paper/{paper}.log",
    wildcard_constraints:
        paper=one_of(papers),
    localrule: True
    params:
        **job("compare_paper", "beirflow.extensions.papers.page:compare_paper"),
        described={
            name: experiment.described(name) for name in experiment.chosen_systems
        },
    message:
        "compare the printed values of {wildcards.paper}"


# The page of each, in a word: snakemake --cores 8 -- papers/contriever-2021
for name in papers:

    rule:
        name:
            f"papers/{name}"
        input:
            at(of_papers.PAGE).format(paper=name),
