"""Adapter of the rule write_report."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.report.report import write_report

        write_report(
            summary_path=snakemake.input.summary,
            means_paths=[*snakemake.input.means, *snakemake.input.corpus_means],
            inspection_paths=list(snakemake.input.inspections),
            comparison_path=snakemake.input.comparison,
            costs_path=snakemake.input.costs,
            figure_paths=list(snakemake.input.figures),
            manifest_path=snakemake.input.manifest,
            report_path=snakemake.output.report,
            other_paths=[snakemake.input.scores, *snakemake.input.pdf],
            job=this,
        )
