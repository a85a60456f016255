"""Adapter of the rule compare_with_baseline."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.paper.against_baseline import write_against_baseline

        write_against_baseline(
            means_paths=list(snakemake.input.means),
            comparison_path=snakemake.input.comparison,
            baseline=snakemake.params.baseline,
            table_path=snakemake.output[0],
        )
