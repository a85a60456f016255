"""Adapter of the rule search_weights."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.sparse.search_weights import search_weights
        from beirflow.sparse.settings import SparseSettings

        names = ("queries", "documents", "model", "query_weights", "chunk_weights")
        search_weights(
            settings=SparseSettings(**snakemake.params.settings),
            **{f"{name}_path": snakemake.input[name] for name in names},
            chunk=int(snakemake.wildcards.chunk),
            expansion_path=next(iter(snakemake.input.expansion), None),
            output_path=snakemake.output[0],
            **snakemake.params.retrieval,
            threads=snakemake.threads,
            job=this,
        )
