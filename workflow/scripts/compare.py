"""Adapter of the rule compare."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.exchange.compare import compare

        print(compare(folder=str(this.results), other=snakemake.params.other))
