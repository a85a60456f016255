"""Adapter of the rule average_forums."""

from beirflow.jobs.job import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from beirflow.evaluation.evaluate import average_forums

        average_forums(
            dataset=snakemake.wildcards.row,
            forum_paths=list(snakemake.input),
            means_path=snakemake.output.means,
            code=snakemake.params.code,
        )
