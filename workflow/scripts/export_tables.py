"""Adapter of the rule export_tables."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.report.exports import export_tables

        export_tables(
            **{f"{name}_path": snakemake.input[name] for name in ("summary", "comparison", "systems")},
            baseline=snakemake.params.baseline,
            folder=str(this.results),
        )
