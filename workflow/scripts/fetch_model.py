"""Adapter of the rule fetch_model."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.models.model_files import fetch_model
        from beirflow.models.settings import ModelSettings

        fetch_model(
            system=ModelSettings(**snakemake.params.model),
            said=snakemake.params.said,
            output_path=snakemake.output[0],
            job=this,
        )
