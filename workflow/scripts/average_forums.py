"""Adapter of the rule average_forums."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.evaluation.evaluate import average_forums

        average_forums(
            dataset=snakemake.wildcards.row, forum_paths=list(snakemake.input), means_path=snakemake.output.means, job=this
        )
