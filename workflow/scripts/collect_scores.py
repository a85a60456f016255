"""Adapter of the rule collect_scores."""

from beirflow.jobs.job import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from beirflow.evaluation.scores import collect_scores

        collect_scores(
            means_paths=list(snakemake.input.means),
            per_query_paths=list(snakemake.input.per_query),
            code=snakemake.params.code,
            scores_path=snakemake.output[0],
        )
