"""Adapter of the rule search_chunk."""

from beirflow.job_log import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from beirflow.search import search_chunk

        search_chunk(
            queries_path=snakemake.input.queries,
            documents_path=snakemake.input.documents,
            chunk=int(snakemake.wildcards.chunk),
            query_vectors_path=snakemake.input.query_vectors,
            chunk_vectors_path=snakemake.input.chunk_vectors,
            output_path=snakemake.output[0],
            **snakemake.params.settings,
            device=snakemake.config["device"],
            threads=snakemake.threads,
            code=snakemake.params.code,
        )
