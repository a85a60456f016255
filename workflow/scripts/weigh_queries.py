"""Adapter of the rule weigh_queries."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.sparse.weigh import weigh_queries, weighing_of

        weigh_queries(
            queries_path=snakemake.input.queries,
            output_path=snakemake.output.weights,
            weighing=weighing_of(snakemake),
            job=this,
        )
