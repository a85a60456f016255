"""Adapter of the rule tabulate_paper."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.paper.table_2 import write_tables

        write_tables(means_paths=list(snakemake.input.means), folder=snakemake.output[0].rpartition("/")[0])
