"""Adapter of the rule collect_scores."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.evaluation.scores import collect_scores

        collect_scores(
            means_paths=list(snakemake.input.means),
            per_query_paths=list(snakemake.input.per_query),
            scores_path=snakemake.output[0],
            job=this,
        )
