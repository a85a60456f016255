"""Adapter of the rule sum_statistics."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake, pandas=False) as this:
        from beirflow.lexical.index import Index
        from beirflow.lexical.sum_statistics import sum_statistics

        sum_statistics(
            postings_paths=list(snakemake.input.postings),
            index=Index(*snakemake.params.index),
            output_path=snakemake.output.statistics,
            job=this,
        )
