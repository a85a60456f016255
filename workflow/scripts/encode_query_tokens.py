"""Adapter of the rule encode_query_tokens."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.late.encode import encode_query_tokens, token_encoding_of

        encode_query_tokens(
            queries_path=snakemake.input.queries,
            output_path=snakemake.output.vectors,
            encoding=token_encoding_of(snakemake),
            job=this,
        )
