"""Adapter of the rule fetch_model."""

from beirflow.jobs.job import job_log

if __name__ == "__main__":
    with job_log(snakemake.log[0]):
        from beirflow.models.model_files import fetch_model
        from beirflow.models.settings import System

        fetch_model(system=System(**snakemake.params.system), output_path=snakemake.output[0], code=snakemake.params.code)
