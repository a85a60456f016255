"""Adapter of the rule compare."""

from beirflow.jobs.job import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from pathlib import Path

        from beirflow.exchange.compare import compare

        print(compare(folder=str(Path(snakemake.log[0]).parents[1]), other=snakemake.params.other))
