"""Adapter of the rule fetch_sparse_model."""

from beirflow.jobs.job import job

if __name__ == "__main__":
    with job(snakemake) as this:
        from beirflow.sparse.model_folders import fetch_sparse_model
        from beirflow.sparse.settings import SparseSettings

        fetch_sparse_model(settings=SparseSettings(**snakemake.params.settings), output_path=snakemake.output[0], job=this)
