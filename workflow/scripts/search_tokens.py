"""Adapter of the rule search_tokens."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.late.search_tokens import search_tokens

        names = ("queries", "documents", "model", "query_vectors", "chunk_vectors")
        search_tokens(
            system=snakemake.wildcards.system,
            **{f"{name}_path": snakemake.input[name] for name in names},
            chunk=int(snakemake.wildcards.chunk),
            output_path=snakemake.output[0],
            **snakemake.params.retrieval,
            device=snakemake.config["device"],
            threads=snakemake.threads,
            jobs_per_gpu=snakemake.config["jobs_per_gpu"],
            job=this,
        )
