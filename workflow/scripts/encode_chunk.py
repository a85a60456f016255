"""Adapter of the rule encode_chunk."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.dense.encode import encode_chunk, encoding_of

        encode_chunk(
            documents_path=snakemake.input.documents,
            chunk=int(snakemake.wildcards.chunk),
            shared_paths=[*snakemake.input.shared, *snakemake.input.shared_vectors],
            output_path=snakemake.output.vectors,
            encoding=encoding_of(snakemake),
            job=this,
        )
