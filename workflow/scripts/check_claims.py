"""Adapter of the rule check_claims."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.paper.claims import write_claims

        write_claims(
            means_paths=list(snakemake.input.means),
            inspection_paths=list(snakemake.input.inspections),
            costs_path=snakemake.input.costs,
            rows=snakemake.params.rows,
            claims_path=snakemake.output[0],
        )
