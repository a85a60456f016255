"""Adapter of the rule index_chunk."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake, pandas=False) as this:
        from beirflow.lexical.index import Index
        from beirflow.lexical.index_chunk import index_chunk

        index_chunk(
            documents_path=snakemake.input.documents,
            chunk=int(snakemake.wildcards.chunk),
            index=Index(*snakemake.params.index),
            expansion_path=next(iter(snakemake.input.expansion), None),
            output_path=snakemake.output.postings,
            threads=snakemake.threads,
            job=this,
        )
