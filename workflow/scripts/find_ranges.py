"""Adapter of the rule find_ranges."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.dense.ranges import find_ranges
        from beirflow.files.layout import ALL_DIMENSIONS

        find_ranges(
            system=snakemake.wildcards.system,
            documents_path=snakemake.input.documents,
            model_path=snakemake.input.model,
            chunk_vectors_paths=list(snakemake.input.vectors),
            output_path=snakemake.output.ranges,
            similarity=snakemake.params.similarity,
            dimensions=None if (found := snakemake.wildcards.dimensions) == ALL_DIMENSIONS else int(found),
            job=this,
        )
