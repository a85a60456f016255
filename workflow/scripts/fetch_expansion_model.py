"""Adapter of the rule fetch_expansion_model."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.expansions.settings import KINDS
        from beirflow.models.model_files import fetch_model

        expansion = KINDS[snakemake.params.kind](**snakemake.params.settings)
        fetch_model(system=expansion.as_model(), said=None, output_path=snakemake.output[0], job=this)
