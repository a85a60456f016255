"""Adapter of the rule download_dataset."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake):
        from beirflow.experiment.load import load_experiment
        from beirflow.sources.download import download_dataset

        download_dataset(
            urls=load_experiment(snakemake.config).urls(snakemake.wildcards.archive),
            **snakemake.params.expected,
            output_path=snakemake.output.archive,
        )
