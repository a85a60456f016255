"""Adapter of the rule search_chunk."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake, pandas=False) as this:
        from beirflow.dense.search import search_chunk

        search_chunk(
            system=snakemake.wildcards.system,
            **{f"{name}_path": snakemake.input[name] for name in ("queries", "documents", "model")},
            **{f"{name}_vectors_path": snakemake.input[f"{name}_vectors"] for name in ("query", "chunk")},
            chunk=int(snakemake.wildcards.chunk),
            output_path=snakemake.output[0],
            ranges_path=snakemake.input.get("ranges") or None,
            similarity=snakemake.params.similarity,
            **snakemake.params.variant | snakemake.params.retrieval,
            **{key: snakemake.config[key] for key in ("device", "jobs_per_gpu")} | {"threads": snakemake.threads, "job": this},
        )
