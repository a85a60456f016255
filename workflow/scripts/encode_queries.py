"""Adapter of the rule encode_queries."""

from beirflow.jobs.job import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from beirflow.dense.encode import encode_queries

        encode_queries(
            queries_path=snakemake.input.queries,
            corpus_path=snakemake.input.corpus,
            model_path=snakemake.input.model,
            output_path=snakemake.output.vectors,
            **snakemake.params.settings,
            device=snakemake.config["device"],
            token_budget=snakemake.config["token_budget"],
            threads=snakemake.threads,
            jobs_per_gpu=snakemake.config["jobs_per_gpu"],
            code=snakemake.params.code,
        )
