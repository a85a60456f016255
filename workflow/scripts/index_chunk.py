"""Adapter of the rule index_chunk."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.lexical.steps import index_chunk

        index_chunk(
            documents_path=snakemake.input.documents,
            chunk=int(snakemake.wildcards.chunk),
            analyzer=snakemake.wildcards.analyzer,
            output_path=snakemake.output.postings,
            threads=snakemake.threads,
            job=this,
        )
