"""Adapter of the rule search_chunk."""

from beirflow.jobs.job import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from beirflow.dense.search import search_chunk

        search_chunk(
            queries_path=snakemake.input.queries,
            documents_path=snakemake.input.documents,
            model_path=snakemake.input.model,
            chunk=int(snakemake.wildcards.chunk),
            query_vectors_path=snakemake.input.query_vectors,
            chunk_vectors_path=snakemake.input.chunk_vectors,
            output_path=snakemake.output[0],
            **snakemake.params.settings | {"code": snakemake.params.code},
            **{key: snakemake.config[key] for key in ("device", "jobs_per_gpu")},
            threads=snakemake.threads,
        )
