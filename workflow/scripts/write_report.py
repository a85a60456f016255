"""Adapter of the rule write_report."""

from beirflow.jobs.job import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
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
            view_paths=[snakemake.input.scores, *snakemake.input.pdf],
            code=snakemake.params.code,
        )
