"""Adapter of the rule compare_systems."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.evaluation.significance import compare_systems

        compare_systems(
            means_paths=list(snakemake.input.means),
            per_query_paths=list(snakemake.input.per_query),
            rows=snakemake.params.rows,
            comparison_path=snakemake.output[0],
        )
