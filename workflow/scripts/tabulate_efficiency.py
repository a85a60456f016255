"""Adapter of the rule tabulate_efficiency."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.paper.efficiency import tabulate_efficiency

        tabulate_efficiency(latency_paths=list(snakemake.input.latencies), table_path=snakemake.output[0])
