"""Adapter of the rule encode_tokens."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.late.encode import encode_tokens, token_encoding_of

        encode_tokens(
            documents_path=snakemake.input.documents,
            chunk=int(snakemake.wildcards.chunk),
            output_path=snakemake.output.vectors,
            encoding=token_encoding_of(snakemake),
            job=this,
        )
