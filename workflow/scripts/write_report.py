"""Adapter of the rule write_report."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.report.report import write_report

        tables = ("summary", "comparison", "costs", "systems", "manifest")
        write_report(
            **{f"{name}_path": snakemake.input[name] for name in tables},
            means_paths=[*snakemake.input.means, *snakemake.input.corpus_means],
            inspection_paths=list(snakemake.input.inspections),
            matches_paths=list(snakemake.input.matches),
            figure_paths=list(snakemake.input.figures),
            report_path=snakemake.output.report,
            baseline=snakemake.params.baseline,
            other_paths=[snakemake.input.scores, *snakemake.input.pdf, *snakemake.input.figure_data, *snakemake.input.tables],
            job=this,
        )
