"""Adapter of the rule tabulate_lengths."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.paper.length_tables import write_length_tables

        write_length_tables(
            inspection_paths=list(snakemake.input.inspections),
            statistics_paths=list(snakemake.input.statistics),
            rows=snakemake.params.rows,
            folder=snakemake.output[0].rpartition("/")[0],
        )
