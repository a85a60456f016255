"""Adapter of the rule sum_statistics."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.jobs.lean_arrow import without_pandas
        from beirflow.lexical.settings import Index
        from beirflow.lexical.steps import sum_statistics

        without_pandas()
        sum_statistics(
            postings_paths=list(snakemake.input.postings),
            index=Index(*snakemake.params.index),
            output_path=snakemake.output.statistics,
            job=this,
        )
