"""Adapter of the rule weigh_chunk."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.sparse.weigh import weigh_chunk, weighing_of

        weigh_chunk(
            documents_path=snakemake.input.documents,
            chunk=int(snakemake.wildcards.chunk),
            expansion_path=next(iter(snakemake.input.expansion), None),
            output_path=snakemake.output.weights,
            weighing=weighing_of(snakemake),
            job=this,
        )
