"""Adapter of the rule encode_queries."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.dense.encode import encode_queries, encoding_of

        encode_queries(
            queries_path=snakemake.input.queries,
            output_path=snakemake.output.vectors,
            encoding=encoding_of(snakemake),
            job=this,
        )
