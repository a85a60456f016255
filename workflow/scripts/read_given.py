"""Adapter of the rule read_given."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.expansions.given import read_given
        from beirflow.expansions.settings import KINDS

        read_given(
            given=KINDS[snakemake.params.kind](**snakemake.params.settings),
            source_path=snakemake.input.source,
            documents_path=snakemake.input.documents,
            chunk=int(snakemake.wildcards.chunk),
            output_path=snakemake.output.expansion,
            job=this,
        )
