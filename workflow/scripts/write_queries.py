"""Adapter of the rule write_queries."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.expansions.making import making_of
        from beirflow.expansions.write_queries import write_queries

        write_queries(
            making=making_of(snakemake, "queries"),
            documents_path=snakemake.input.documents,
            chunk=int(snakemake.wildcards.chunk),
            output_path=snakemake.output.expansion,
            job=this,
        )
