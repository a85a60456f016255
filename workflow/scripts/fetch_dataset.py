"""Adapter of the rule fetch_dataset."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.sources.fetch_dataset import fetch_dataset

        fetch_dataset(**snakemake.params.settings, output_path=snakemake.output[0], job=this)
