"""Adapter of the rule collect_costs."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.evaluation.cost import collect_costs

        collect_costs(
            means_paths=list(snakemake.input.means),
            record_paths=list(snakemake.input.records),
            rows=snakemake.params.rows,
            carbon_intensity=snakemake.params.carbon_intensity,
            costs_path=snakemake.output[0],
            job=this,
        )
