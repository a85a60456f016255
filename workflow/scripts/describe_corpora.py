"""Adapter of the rule describe_corpora."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.paper.table_1 import write_table_1

        write_table_1(
            statistics_paths=list(snakemake.input.statistics),
            rows=snakemake.params.rows,
            table_path=snakemake.output[0],
        )
