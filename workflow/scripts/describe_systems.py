"""Adapter of the rule describe_systems."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.evaluation.systems import describe_systems

        describe_systems(
            systems=snakemake.params.systems,
            record_paths=list(snakemake.input.records),
            systems_path=snakemake.output[0],
            job=this,
        )
